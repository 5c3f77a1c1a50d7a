// A disk that fills up takes a part of a write and says how much: nothing that is cut off passes for whole.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeNewText } from "../../src/storage/blobs.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { appendLines } from "../../src/storage/line-log.ts";
import { copyPlace, saveCopy } from "../../src/storage/save-copy.ts";
import { errnoError, temporaryDirectory } from "./disks.ts";

/** Takes at most `piece` bytes a call and `room` in all. */
function smallDisk(room: number, piece = Number.POSITIVE_INFINITY): DiskCalls {
  let left = room;
  const writeSync = (descriptor: number, given: string | Uint8Array, offset?: number | null, length?: number) => {
    const bytes = typeof given === "string" ? Buffer.from(given) : Buffer.from(given).subarray(offset ?? 0);
    const count = Math.min(length ?? bytes.length, bytes.length, piece, left);
    left -= count;
    return NODE_DISK.writeSync(descriptor, bytes, 0, count);
  };
  return { ...NODE_DISK, writeSync: writeSync as DiskCalls["writeSync"] };
}

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

describe("a copy for a person", () => {
  it("is whole where the disk takes a part at a time", async () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, "a.txt"), "what was there");
    await saveCopy({ stream: pieces("hello ", "world"), size: 11 }, copyPlace(folder, "a.txt"), smallDisk(100, 3));
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("hello world");
  });

  it("replaces nothing where the disk is full, or what is stored is no longer whole", async () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, "a.txt"), "what was there");
    const place = copyPlace(folder, "a.txt");
    const saved = (size: number) => ({ stream: pieces("hello ", "world"), size });
    await expect(saveCopy(saved(11), place, smallDisk(8))).rejects.toMatchObject({ code: "storage_failed" });
    await expect(saveCopy(saved(12), place)).rejects.toThrow(/11 bytes of 12/);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("what was there");
    expect(readdirSync(folder)).toEqual(["a.txt"]);
  });

  it("has a name as long as names can be", async () => {
    const folder = temporaryDirectory();
    const name = `${"漢".repeat(72)}.txt`;
    await saveCopy({ stream: pieces("x"), size: 1 }, copyPlace(folder, name));
    expect(readdirSync(folder)).toEqual([name]);
  });

  it("tells why it failed, not what failed when it was cleaned up", async () => {
    const folder = temporaryDirectory();
    const rmSync = () => {
      throw errnoError("EBUSY", "rm");
    };
    const disk = { ...smallDisk(1), rmSync };
    await expect(saveCopy({ stream: pieces("xyz"), size: 3 }, copyPlace(folder, "a"), disk)).rejects.toThrow(
      /only 1 of 3 bytes/,
    );
  });
});

describe("a line or a small file of ours", () => {
  it("that is cut off is an error, and the next line stands for itself", () => {
    const file = join(temporaryDirectory(), "log.jsonl");
    const cut = () => appendLines(file, ['{"a":1}'], { shown: "The log", disk: smallDisk(3) });
    expect(cut).toThrow(/^The log could not be written: only 3 of 8 bytes/);
    appendLines(file, ['{"b":2}'], { shown: "The log" });
    expect(readFileSync(file, "utf8").split("\n")).toEqual(['{"a', '{"b":2}', ""]);
  });

  it("is written on where the disk takes a part, and is not left half", () => {
    const folder = temporaryDirectory();
    writeNewText(join(folder, "a"), "whole", smallDisk(100, 2));
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("whole");
    expect(() => writeNewText(join(folder, "b"), "whole", smallDisk(3))).toThrow(/only 3 of 5 bytes/);
    expect(readdirSync(folder)).toEqual(["a"]);
  });
});
