// Disks for tests: directories of their own, and real file systems that misbehave in one chosen way.
import fs, { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { onTestFinished } from "vitest";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "token-budget-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function errnoError(code: string, call: string): Error {
  return Object.assign(new Error(`${code}: injected failure, ${call}`), { code, syscall: call });
}

export type CallName = keyof DiskCalls;

/** A real disk that asks `before` ahead of every call; what it throws is what the call throws. */
export function watchedDisk(before: (call: CallName, path: string) => void): DiskCalls {
  return new Proxy(NODE_DISK, {
    get(disk, name) {
      const call: unknown = Reflect.get(disk, name);
      if (typeof call !== "function") return call;
      return (...args: unknown[]) => {
        before(name as CallName, String(args[0]));
        return Reflect.apply(call, disk, args);
      };
    },
  });
}

/** Fails the call with the given number (from 0) once; tells which call it was, if the number was reached. */
export function failingDisk(number: number, code: string): { disk: DiskCalls; failed: () => string | undefined } {
  let count = 0;
  let failed: string | undefined;
  const disk = watchedDisk((call) => {
    if (count++ !== number) return;
    failed = call;
    throw errnoError(code, call);
  });
  return { disk, failed: () => failed };
}

/** Below `base`, paths reach files whose names differ in case only, as on the disks of macOS and Windows. */
export function caseInsensitiveDisk(base: string): DiskCalls {
  const actual = (path: string): string => {
    const below = relative(base, path);
    if (below === "" || below.startsWith("..")) return path;
    const parent = actual(dirname(path));
    const name = path.slice(dirname(path).length + 1);
    const folded = name.toLowerCase();
    let names: string[] = [];
    try {
      names = readdirSync(parent);
    } catch {
      // Not there yet.
    }
    return join(parent, names.find((other) => other.toLowerCase() === folded) ?? name);
  };
  return new Proxy(NODE_DISK, {
    get(disk, name) {
      const call: unknown = Reflect.get(disk, name);
      if (typeof call !== "function") return call;
      return (...args: unknown[]) =>
        Reflect.apply(
          call,
          disk,
          args.map((arg) => (typeof arg === "string" && arg.startsWith("/") ? actual(arg) : arg)),
        );
    },
  });
}

/** The calls of `node:fs` that write-file-atomic makes for one commit. */
export const ATOMIC_WRITE_CALLS = [
  "openSync",
  "writeSync",
  "fsyncSync",
  "closeSync",
  "chmodSync",
  "renameSync",
] as const;

/** Every path below a directory, sorted. */
export function treeOf(directory: string): string[] {
  if (!fs.existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true }).map(String).sort();
}
