// A plain file is read whole; what is at its place instead is refused, and does not hold anybody up.
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { readPlainFile } from "../../src/storage/plain-file.ts";
import { type CallName, temporaryDirectory, watchedDisk } from "./disks.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryDirectory();
});

const read = (name: string) => readPlainFile(NODE_DISK, join(folder, name), "It");

test("its bytes, without a look before on systems that refuse a link themselves", () => {
  writeFileSync(join(folder, "a"), "text");
  const calls: CallName[] = [];
  const disk = watchedDisk((call) => void calls.push(call));
  expect(readPlainFile(disk, join(folder, "a"), "It")?.bytes.toString()).toBe("text");
  expect(calls).toEqual([
    ...(process.platform === "win32" ? ["lstatSync"] : []),
    ...["openSync", "fstatSync", "readFileSync", "closeSync"],
  ]);
  expect(read("b")).toBeUndefined();
});

test("a folder is refused", () => {
  mkdirSync(join(folder, "a"));
  expect(() => read("a")).toThrow("It is a symbolic link or not a plain file");
});

test.skipIf(process.platform === "win32")("links, pipes, sockets and devices are refused at once", async () => {
  writeFileSync(join(folder, "a"), "text");
  symlinkSync("a", join(folder, "link"));
  symlinkSync("/dev/null", join(folder, "device"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const server = createServer();
  await new Promise<void>((done) => void server.listen(join(folder, "socket"), done));
  for (const name of ["link", "device", "pipe", "socket"])
    expect(() => read(name), name).toThrow("It is a symbolic link or not a plain file");
  expect(() => readPlainFile(NODE_DISK, "/dev/null", "It")).toThrow("not a plain file");
  await new Promise((done) => server.close(done));
});
