// JSON files with a version: what is newer is refused by name and never rewritten; what is damaged stays as it is.
import fs, { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { type JsonFile, JsonStore, readJson, type VersionedFields } from "../../src/storage/json-store.ts";
import { temporaryDirectory, treeOf, watchedDisk } from "./disks.ts";

const DAMAGED = ["", "{", "[]", "null", "3", "{}", '{"version":"1"}', '{"version":0}', '{"version":1.5}'];

function place() {
  const directory = temporaryDirectory();
  const calls: string[] = [];
  const disk = watchedDisk((call, path) => calls.push(`${call} ${path.replace(directory, "")}`));
  const source: JsonFile<VersionedFields> = {
    file: join(directory, "deep", "registry.json"),
    version: 2,
    shown: "The registry",
    parse: (fields) =>
      fields.agents === "none" ? { type: "damaged", problem: "agents is none" } : { type: "value", value: fields },
    fields: (value) => value,
  };
  const store = new JsonStore(join(directory, "registry.meta"), { disk, waitMs: 100 });
  const write = (fields: object) => store.update(source, () => ({ version: 99, ...fields }));
  return { directory, source, store, calls, write, read: () => readJson(source) };
}

describe("a JSON file", () => {
  test("holds what was written, with the version", async () => {
    const { write, read } = place();
    expect(read()).toBeUndefined();
    await write({ agents: ["/root"] });
    expect(read()).toEqual({ agents: ["/root"], version: 2 });
  });

  test("is not written when nothing has changed, and not when the change throws", async () => {
    const { store, source, directory, write, read } = place();
    await write({ kept: true });
    await store.update(source, (before) => before as VersionedFields);
    const failing = store.update(source, () => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(read()).toEqual({ kept: true, version: 2 });
    expect(treeOf(join(directory, "registry.meta"))).toEqual(["locks", "tmp"]);
  });

  test("of an older format is read as it is", async () => {
    const { source, write, read } = place();
    await write({});
    writeFileSync(source.file, '{"version":1,"old":true}');
    expect(read()).toEqual({ version: 1, old: true });
    await write({});
    expect(read()).toEqual({ version: 2 });
  });

  test("of a newer format is refused and never rewritten", async () => {
    const { source, write, read } = place();
    await write({});
    const newer = '{"version":3,"x":1}';
    writeFileSync(source.file, newer);
    for (const attempt of [async () => read(), () => write({})]) {
      await expect(attempt()).rejects.toMatchObject({ code: "newer_format" });
      await expect(attempt()).rejects.toThrow(
        /The registry has format 3.*reads up to 2.*registry\.json.*Update pi-token/,
      );
    }
    expect(readFileSync(source.file, "utf8")).toBe(newer);
  });

  test.each([...DAMAGED, '{"version":1,"agents":"none"}'])(
    "that is damaged (%s) is an error that names it, and stays",
    async (content) => {
      const { source, write, read } = place();
      await write({});
      writeFileSync(source.file, content);
      const problem = content.includes("none") ? "agents is none" : "there is no JSON object with a version";
      for (const attempt of [async () => read(), () => write({})]) {
        await expect(attempt()).rejects.toMatchObject({ code: "storage_failed" });
        await expect(attempt()).rejects.toThrow(
          `The registry is damaged: in ${source.file}, ${problem}. It is left as`,
        );
      }
      expect(readFileSync(source.file, "utf8")).toBe(content);
    },
  );

  test("is read once and flushed once for each change", async () => {
    const { calls, write, source } = place();
    await write({ n: 1 });
    calls.length = 0;
    const flush = vi.spyOn(fs, "fsyncSync");
    await write({ n: 2 });
    expect(calls.filter((call) => call.startsWith("openSync"))).toEqual([
      "openSync /deep/registry.json",
      "openSync /deep",
    ]);
    // The file, and its name in its folder.
    expect(flush).toHaveBeenCalledTimes(2);
    flush.mockRestore();
    expect(existsSync(source.file)).toBe(true);
  });
});
