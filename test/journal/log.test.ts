// The append-only log: whatever was cut off, torn or damaged, what was committed is read, and nothing else.
import { appendFileSync, mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import zlib from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppendLog } from "../../src/journal/log.ts";
import { LogBatch, tableCrc32 } from "../../src/journal/log-format.ts";
import { type HeldLogLock, heldUp } from "../../src/journal/log-lock.ts";
import type { OpenLog } from "../../src/journal/log-open.ts";
import type { LogPlace, LogSegment } from "../../src/journal/log-scan.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { temporaryDirectory } from "../storage/disks.ts";

const FORMAT = { format: "test log", version: 2, shown: "The log of the test" };

const HELD = { assertOwned: () => undefined };

function newLog(disk?: DiskCalls) {
  const file = join(temporaryDirectory(), "log.jsonl");
  return { file, log: new AppendLog({ ...FORMAT, file }, disk) };
}

function batchOf(open: OpenLog, lines: readonly unknown[], said: unknown): LogBatch {
  const batch = new LogBatch();
  for (const line of lines) batch.add(JSON.stringify({ line }));
  batch.commit({ said }, lastPlace(open).sum);
  return batch;
}

function append(log: AppendLog, lines: readonly unknown[], said: unknown): number {
  return log.appending((open) => {
    open.truncate(lastPlace(open).offset, HELD);
    return open.append(batchOf(open, lines, said), HELD, { flush: true });
  });
}

function segmentsOf(open: OpenLog): LogSegment[] {
  const scan = open.segments({ offset: open.start, sum: 0 });
  const segments: LogSegment[] = [];
  for (let segment = scan.next(); segment; segment = scan.next()) segments.push(segment);
  return segments;
}

function lastPlace(open: OpenLog): LogPlace {
  const last = segmentsOf(open).at(-1);
  return last ? { offset: last.end, sum: last.commit.sum } : { offset: open.start, sum: 0 };
}

/** Everything committed: the lines of each commit and its record. */
function contentOf(log: AppendLog): unknown[] {
  const read = log.reading((open) =>
    segmentsOf(open).map(({ lines, record }) => [
      ...lines.map(({ bytes }) => JSON.parse(bytes.toString()).line),
      (record as { said: unknown }).said,
    ]),
  );
  return read ?? [];
}

test("a first write of which a power cut left only the length is no content", () => {
  const { log, file } = newLog();
  append(log, ["a"], 1);
  writeFileSync(file, Buffer.alloc(statSync(file).size));
  expect(contentOf(log)).toEqual([]);
  append(log, ["b"], 2);
  expect(contentOf(log)).toEqual([["b", 2]]);
});

describe("what was committed", () => {
  test("is read back in order, with the places of its lines", () => {
    const { log, file } = newLog();
    expect(log.reading(() => 1)).toBeUndefined();
    append(log, ["a", "漢字\ud83d\n"], { leaf: 1 });
    append(log, [], { leaf: null });
    append(log, [{ commit: "no commit line" }], { leaf: 2 });
    expect(contentOf(log)).toEqual([
      ["a", "漢字\ud83d\n", { leaf: 1 }],
      [{ leaf: null }],
      [{ commit: "no commit line" }, { leaf: 2 }],
    ]);
    const bytes = readFileSync(file);
    const first = log.reading((open) => segmentsOf(open)[0]?.lines[1]);
    expect(JSON.parse(bytes.toString("utf8", first?.offset, (first?.offset ?? 0) + (first?.length ?? 0)))).toEqual({
      line: "漢字\ud83d\n",
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(bytes.toString("utf8", 0, bytes.indexOf(10)))).toMatchObject({ format: "test log", version: 2 });
  });

  test("of any size is read whole, across every border of what is read at once", () => {
    const sizes = fc.sample(fc.oneof(fc.nat(50), fc.integer({ min: 500_000, max: 2_600_000 })), {
      numRuns: 24,
      seed: 7,
    });
    const { log } = newLog();
    const lines = sizes.map((size, at) => `${at} ${"x".repeat(size)}`);
    for (let at = 0; at < lines.length; at += 3) append(log, lines.slice(at, at + 3), at);
    expect(
      contentOf(log)
        .flat()
        .filter((line) => typeof line === "string"),
    ).toEqual(lines);
  });

  test("costs one write and one flush", () => {
    const calls: string[] = [];
    const disk = new Proxy(NODE_DISK, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        return (...args: unknown[]) => {
          calls.push(String(name));
          return Reflect.apply(call as () => unknown, target, args);
        };
      },
    });
    const { log } = newLog(disk);
    log.appending((open) => open.append(batchOf(open, ["a"], 1), HELD, { flush: true }));
    const batch = log.appending((open) => batchOf(open, ["b", "c"], 2));
    calls.length = 0;
    log.appending((open) => open.append(batch, HELD, { flush: true }));
    expect(calls).toEqual(["lstatSync", "readSync", "writeSync", "fdatasyncSync"]);
  });
});

describe("a tail that nothing valid follows is passed over, and cut off by the next writer", () => {
  function committedThenMore() {
    const { log, file } = newLog();
    append(log, ["old"], 1);
    const old = statSync(file).size;
    append(log, ["new 😀", "newer"], 2);
    return { log, file, old, whole: readFileSync(file) };
  }

  test("when it is cut at any byte", () => {
    const { log, file, old, whole } = committedThenMore();
    for (let size = whole.length - 1; size >= old; size--) {
      truncateSync(file, size);
      expect(contentOf(log)).toEqual([["old", 1]]);
    }
    for (let size = whole.length - 1; size > old; size -= 7) {
      writeFileSync(file, whole.subarray(0, size));
      append(log, ["next"], 3);
      expect(contentOf(log)).toEqual([
        ["old", 1],
        ["next", 3],
      ]);
    }
  });

  test("when any one of its bytes is wrong", () => {
    const { log, file, old, whole } = committedThenMore();
    for (let at = old; at < whole.length; at++) {
      const broken = Buffer.from(whole);
      broken[at] = (broken[at] as number) ^ 0x15;
      writeFileSync(file, broken);
      expect(contentOf(log)).toEqual([["old", 1]]);
    }
  });

  test("when it is zeros or noise", () => {
    for (const tail of [
      Buffer.alloc(5_000),
      Buffer.from(
        fc.sample(fc.uint8Array({ minLength: 3_000, maxLength: 4_000 }), { numRuns: 1, seed: 3 })[0] as Uint8Array,
      ),
    ]) {
      const { log, file, old, whole } = committedThenMore();
      writeFileSync(file, Buffer.concat([whole.subarray(0, old), tail]));
      expect(contentOf(log)).toEqual([["old", 1]]);
      append(log, ["next"], 3);
      expect(contentOf(log)).toEqual([
        ["old", 1],
        ["next", 3],
      ]);
    }
  });

  test("when the very first write was cut at any byte", () => {
    const { log, file, whole } = committedThenMore();
    const first = whole.indexOf("\n", whole.indexOf('{"commit"'));
    for (let size = first; size >= 0; size--) {
      writeFileSync(file, whole.subarray(0, size));
      expect(contentOf(log), `${size} bytes`).toEqual([]);
      append(log, ["begun again"], 1);
      expect(contentOf(log)).toEqual([["begun again", 1]]);
    }
  });

  test("and lines that were left before a commit of another writer are none of its own", () => {
    const { log, file, old, whole } = committedThenMore();
    const left = Buffer.from('{"line":"left behind"}\n');
    writeFileSync(file, Buffer.concat([whole.subarray(0, old), left, whole.subarray(old)]));
    expect(contentOf(log)).toEqual([
      ["old", 1],
      ["new 😀", "newer", 2],
    ]);
  });
});

describe("what follows a place where something is missing", () => {
  const damaged = (harm: (bytes: Buffer) => Buffer) => {
    const { file, log } = newLog();
    for (const number of [1, 2, 3]) append(log, [`line ${number}`], number);
    writeFileSync(file, harm(readFileSync(file)));
    return log;
  };

  test("is not read, and is cut off by the next writer", () => {
    const second = (bytes: Buffer) => [bytes.indexOf('{"line":"line 2"'), bytes.indexOf('{"line":"line 3"')] as const;
    const harms: ((bytes: Buffer) => Buffer)[] = [
      (bytes) => bytes.fill(0x4c, bytes.indexOf("line 2"), bytes.indexOf("line 2") + 1),
      (bytes) => bytes.fill(0, ...second(bytes)),
      (bytes) => Buffer.concat([bytes.subarray(0, second(bytes)[0]), bytes.subarray(second(bytes)[1])]),
    ];
    for (const harm of harms) {
      const log = damaged(harm);
      expect(contentOf(log)).toEqual([["line 1", 1]]);
      const isDamaged = log.reading((open) => {
        const scan = open.segments({ offset: open.start, sum: 0 });
        while (scan.next());
        return scan.isDamaged;
      });
      expect(isDamaged).toBe(true);
      append(log, ["next"], 4);
      expect(contentOf(log)).toEqual([
        ["line 1", 1],
        ["next", 4],
      ]);
    }
  });

  test("in a log whose commits do not say what they were written after is the same", () => {
    const { file, log } = newLog();
    append(log, ["line 1"], 1);
    const older = (line: string, said: number) => {
      const data = `${JSON.stringify({ line })}\n`;
      const summed = `{"commit":${JSON.stringify({ said })},"bytes":${data.length}`;
      return `${data}${summed},"crc":${zlib.crc32(summed, zlib.crc32(data))}}\n`;
    };
    appendFileSync(file, older("line 2", 2) + older("line 3", 3));
    expect(contentOf(log)).toHaveLength(3);
    append(log, ["line 4"], 4);
    expect(contentOf(log)).toHaveLength(4);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0, bytes.indexOf('{"line":"line 2"'), bytes.indexOf('{"line":"line 3"')));
    expect(contentOf(log)).toEqual([["line 1", 1]]);
  });
});

describe("a file that is not to be touched", () => {
  const untouched = (file: string, log: AppendLog, code: string, says: RegExp) => {
    const before = readFileSync(file);
    for (const use of [() => contentOf(log), () => append(log, ["x"], 1)]) {
      expect(use).toThrow(expect.objectContaining({ code }));
      expect(use).toThrow(says);
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  };

  test("has a newer format", () => {
    const { file, log } = newLog();
    for (const rest of ["", ',"id":"x"}', ',"id":"x","more":1}\n{"line":1}\n']) {
      writeFileSync(file, `{"format":"test log","version":3${rest}`);
      untouched(
        file,
        log,
        "newer_format",
        /has format 3.*reads up to 2.*Update pi-token-budget; the file is left as it is/,
      );
    }
  });

  test("is something else", () => {
    for (const content of ["hello\n", "{}\n", '{"format":"other log","version":1,"id":"x"}\n', "x".repeat(300)]) {
      const { file, log } = newLog();
      writeFileSync(file, content);
      untouched(file, log, "storage_failed", /damaged.*does not begin as such a file.*left as it is/);
    }
  });

  test("is a link or a directory", () => {
    const { file, log } = newLog();
    writeFileSync(`${file}.target`, "");
    symlinkSync(`${file}.target`, file);
    untouched(file, log, "refused", /symbolic link/);
    const other = newLog();
    mkdirSync(other.file);
    expect(() => contentOf(other.log)).toThrow(expect.objectContaining({ code: "refused" }));
  });
});

describe("a disk that takes only a part", () => {
  test("at a time gets the rest", () => {
    const writeSync = ((descriptor: number, bytes: Buffer, from: number, length: number) =>
      NODE_DISK.writeSync(descriptor, bytes, from, Math.min(length, 5))) as DiskCalls["writeSync"];
    const { log } = newLog({ ...NODE_DISK, writeSync });
    append(log, ["a long line"], 1);
    expect(contentOf(log)).toEqual([["a long line", 1]]);
  });

  test("and no more leaves what was there", () => {
    let left = Number.POSITIVE_INFINITY;
    const writeSync = ((descriptor: number, bytes: Buffer, from: number, length: number) => {
      const taken = NODE_DISK.writeSync(descriptor, bytes, from, Math.min(length, left));
      left -= taken;
      return taken;
    }) as DiskCalls["writeSync"];
    const { log, file } = newLog({ ...NODE_DISK, writeSync });
    append(log, ["old"], 1);
    const before = readFileSync(file);
    left = 10;
    expect(() => append(log, ["new"], 2)).toThrow(/only 10 of \d+ bytes.*What was there before is unchanged/);
    expect(readFileSync(file).equals(before)).toBe(true);
    left = Number.POSITIVE_INFINITY;
    append(log, ["new"], 2);
    expect(contentOf(log)).toHaveLength(2);
  });
});

describe("a writer that lost its lock", () => {
  const LOST: HeldLogLock = {
    assertOwned: () => {
      throw heldUp(FORMAT);
    },
  };

  test("writes nothing and cuts nothing off", () => {
    const { log, file } = newLog();
    append(log, ["a"], 1);
    const before = readFileSync(file);
    const losing = [
      () => log.appending((open) => open.append(batchOf(open, ["b"], 2), LOST, { flush: true })),
      () => log.appending((open) => open.truncate(0, LOST)),
    ];
    for (const lose of losing) expect(lose).toThrow(expect.objectContaining({ code: "lock_lost" }));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("amid its write says so, and leaves what the other one wrote", () => {
    let meanwhile = () => undefined as unknown;
    let owned = true;
    const held: HeldLogLock = {
      assertOwned: () => {
        if (!owned) throw heldUp(FORMAT);
      },
    };
    const writeSync = ((...args: Parameters<DiskCalls["writeSync"]>) => {
      meanwhile();
      return NODE_DISK.writeSync(...args);
    }) as DiskCalls["writeSync"];
    const { log, file } = newLog({ ...NODE_DISK, writeSync });
    append(log, ["a"], 1);
    meanwhile = () => {
      owned = false;
      return append(new AppendLog({ ...FORMAT, file }), ["b"], 2);
    };
    const losing = () => log.appending((open) => open.append(batchOf(open, ["c"], 3), held, { flush: true }));
    expect(losing).toThrow(expect.objectContaining({ code: "lock_lost" }));
    // What was written after something else is none of the log.
    expect(contentOf(log)).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
  });
});

test("the checksum of older hosts is the same", () => {
  const table = tableCrc32();
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      expect(table(b, table(a))).toBe(zlib.crc32(b, zlib.crc32(a)));
    }),
  );
});
