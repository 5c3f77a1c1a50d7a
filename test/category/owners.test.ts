// Other agents' content by their journals, written as sessions write them.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { CATEGORY_ENTRY } from "../../src/category/log.ts";
import { OwnerCategories } from "../../src/category/owners.ts";
import type { LogEntry } from "../../src/host/entries.ts";
import { journalFile } from "../../src/journal/journal.ts";
import { JournalWriter } from "../../src/journal/writer.ts";
import { temporaryDirectory } from "../storage/disks.ts";

const timestamp = "2025-01-02T03:04:05.000Z";

function agentWith() {
  const historyDir = join(temporaryDirectory(), "history");
  const entries: LogEntry[] = [];
  const source = {
    leafId: () => entries.at(-1)?.id ?? null,
    entry: (id: string) => entries.find((entry) => entry.id === id),
  };
  const writer = new JournalWriter({ directory: historyDir, agent: "/root/a" });
  const add = async (fields: Pick<LogEntry, "type"> & Partial<LogEntry>) => {
    const id = `0000000${entries.length}`.slice(-8);
    entries.push({ id, parentId: source.leafId(), timestamp, ...fields });
    await writer.sync(source);
  };
  return { owner: { address: "/root/a", historyDir, category: null }, add };
}

test("what the journal says last counts, also as it grows", async () => {
  const { owner, add } = agentWith();
  const owners = new OwnerCategories();
  expect(owners.of(owner)).toBe(null);
  const quoted = `"customType":"${CATEGORY_ENTRY}" in "a text"`;
  await add({ type: "message", message: { role: "user", content: quoted } });
  expect(owners.of(owner)).toBe(null);
  await add({ type: "custom", customType: CATEGORY_ENTRY, data: { category: "s" } });
  expect(owners.of(owner)).toBe("s");
  await add({ type: "message", message: { role: "user", content: "x".repeat(3_000_000) } });
  expect(owners.of(owner)).toBe("s");
  expect(new OwnerCategories().of(owner)).toBe("s");
  expect(owners.of({ ...owner, category: "t" })).toBeUndefined();
  expect(owners.of({ ...owner, decided: "2025-01-02T03:04:06.000Z" })).toBe(null);
  await add({ type: "custom", customType: CATEGORY_ENTRY, data: { category: null } });
  expect(owners.of(owner)).toBe(null);
});

test("a journal that is gone says nothing, and one that cannot be read hides all", async () => {
  const { owner, add } = agentWith();
  const owners = new OwnerCategories();
  await add({ type: "custom", customType: CATEGORY_ENTRY, data: { category: "s" } });
  expect(owners.of(owner)).toBe("s");
  rmSync(journalFile(owner.historyDir));
  expect(owners.of(owner)).toBe(null);
  mkdirSync(journalFile(owner.historyDir));
  expect(owners.of(owner)).toBeUndefined();
});

test("a journal in its place is read from its start", async () => {
  const { owner, add } = agentWith();
  const owners = new OwnerCategories();
  await add({ type: "custom", customType: CATEGORY_ENTRY, data: { category: "s" } });
  expect(owners.of(owner)).toBe("s");
  const file = journalFile(owner.historyDir);
  rmSync(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${"x".repeat(5_000)}\n`);
  expect(owners.of(owner)).toBe(null);
});
