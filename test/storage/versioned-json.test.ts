// Versioned JSON: what is newer is refused by name and never rewritten; what is damaged stays unless replaced on purpose.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AtomicFiles } from "../../src/storage/atomic-file.ts";
import { readVersionedJson, writeVersionedJson } from "../../src/storage/versioned-json.ts";
import { temporaryDirectory } from "./disks.ts";

const DAMAGED = ["", "{", "[]", "null", "3", "{}", '{"version":"1"}', '{"version":0}', '{"version":1.5}'];

function place() {
  const directory = temporaryDirectory();
  const files = new AtomicFiles(join(directory, "tmp"));
  const source = { file: join(directory, "registry.json"), version: 2, shown: "The registry" };
  const write = (fields: Record<string, unknown>, replaceDamaged = false) =>
    writeVersionedJson(files, source, { fields, lockName: "r", beforeRename: () => undefined, replaceDamaged });
  return { source, write };
}

describe("a versioned file", () => {
  test("holds what was written, with the version", () => {
    const { source, write } = place();
    expect(readVersionedJson(source)).toBeUndefined();
    write({ agents: ["/root"], version: 99 });
    expect(readVersionedJson(source)).toEqual({ agents: ["/root"], version: 2 });
  });

  test("of an older format is read as it is", () => {
    const { source, write } = place();
    writeFileSync(source.file, '{"version":1,"old":true}');
    expect(readVersionedJson(source)).toEqual({ version: 1, old: true });
    write({});
    expect(readVersionedJson(source)).toEqual({ version: 2 });
  });

  test("of a newer format is refused and never rewritten", () => {
    const { source, write } = place();
    const newer = '{"version":3,"x":1}';
    writeFileSync(source.file, newer);
    for (const attempt of [() => readVersionedJson(source), () => write({}), () => write({}, true)]) {
      expect(attempt).toThrow(expect.objectContaining({ code: "newer_format" }));
      expect(attempt).toThrow(/The registry has format 3.*reads up to 2.*registry\.json.*Update pi-token-budget/);
    }
    expect(readFileSync(source.file, "utf8")).toBe(newer);
  });

  test.each(DAMAGED)("that is damaged (%s) is an error that names it, and stays", (content) => {
    const { source, write } = place();
    writeFileSync(source.file, content);
    for (const attempt of [() => readVersionedJson(source), () => write({})]) {
      expect(attempt).toThrow(expect.objectContaining({ code: "storage_failed" }));
      expect(attempt).toThrow(/The registry is damaged: .*registry\.json/);
    }
    expect(readFileSync(source.file, "utf8")).toBe(content);
    write({ repaired: true }, true);
    expect(readVersionedJson(source)).toEqual({ repaired: true, version: 2 });
  });
});
