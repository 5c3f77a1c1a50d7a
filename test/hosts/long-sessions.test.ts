// Sessions of any size change windows: a thousand and ten thousand entries, opened again, and six full windows that a Pi
// without this package goes on with. No timing is asserted.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { plainText } from "../../fixtures/pi/request.ts";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import { type FileEntry, writeSessionFile } from "../../fixtures/story/session-file.ts";
import { closeAfterEach, compactions, controls, first, last, pi, roles, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const LONG = "x".repeat(4_000);
const note = (path: string) => call("notes_write_file", { path, text: "the state" });

const isMessageOf = (entry: FileEntry, role: string) =>
  entry.type === "message" && (entry.message as { role: string }).role === role;

interface AnyBlock {
  readonly type: string;
  readonly text?: string;
}

/** The blocks of a written message, or of a custom message's text. */
function blocksIn(entry: FileEntry): readonly AnyBlock[] {
  const content = (entry.message as { content?: unknown; output?: string } | undefined)?.content ?? entry.content;
  return Array.isArray(content) ? (content as AnyBlock[]) : [{ type: "text", text: String(content ?? "") }];
}

/** What a search looks at: everything but what the model thought. */
function searchable(entry: FileEntry): string {
  const output = (entry.message as { output?: string } | undefined)?.output ?? "";
  return JSON.stringify([blocksIn(entry).filter(({ type }) => type !== "thinking"), output]);
}

describe("new_context as the first act", () => {
  for (const entries of [1_000, 10_000]) {
    it(`in a session of ${entries} entries: the next request is the bootstrap alone, and history reads all of it`, async () => {
      const path = join(scratchFolder(), "long.jsonl");
      const written = writeSessionFile(path, { entries, windows: 1, seed: 7 });
      // A window of a million tokens, so that nothing but the call changes it.
      const s = await pi({
        session: { path },
        contextWindow: 100_000_000,
        next: (_request, n) => (n === 0 ? using(2_000, call("new_context")) : using(1_000, text(`answer ${n}`))),
      });
      await s.prompt("carry on with the ledger");
      expect(s.requests).toHaveLength(2);
      expect(s.requests[0]?.messages.length).toBeGreaterThan(entries * 0.7);
      expect(roles(s.requests[1])).toEqual(["user"]);
      expect(first(s.requests[1])).toContain("window, w2");
      expect(first(s.requests[1])).toContain("carry on with the ledger");
      expect(first(s.requests[1]).length).toBeLessThan(12_000);

      await s.prompt("and then?");
      expect(s.requests).toHaveLength(3);
      expect(s.requests[2]?.messages.slice(1).map(plainText)).toEqual(["answer 1", "and then?"]);

      const users = written.filter((entry) => isMessageOf(entry, "user"));
      const listed = await s.callTool("history_list_items", { role: "user", window_id: "w1", limit: 1 });
      const [head] = textOf({ content: listed.content }).split("\n");
      // The prompt of this test is the one user message more; bash runs and hints share the role.
      expect((JSON.parse(head ?? "{}") as { total: number }).total).toBeGreaterThanOrEqual(users.length + 1);

      const results = written.filter((entry) => isMessageOf(entry, "toolResult"));
      for (const entry of [...results.slice(0, 2), ...users.slice(-2)]) {
        const wanted = blocksIn(entry)
          .flatMap((block) => block.text ?? [])
          .join("\n");
        const page = await s.callTool("history_read_item", { item_id: entry.id, window_id: "w1" });
        const shown = textOf({ content: page.content.slice(0, 1) });
        expect(shown.slice(shown.indexOf("\n") + 1)).toBe(wanted);
      }
      const found = await s.callTool("history_search_contents", { query: "日本語 中文字符", window_id: "w1" });
      const holding = written.filter((entry) => searchable(entry).includes("日本語 中文字符"));
      expect(holding.length).toBeGreaterThan(10);
      const { total, total_at_least = false } = JSON.parse(textOf({ content: found.content }).split("\n")[0] ?? "{}");
      // A page costs a page: what is far behind it is not counted.
      expect(total_at_least).toBe(true);
      expect(total).toBeGreaterThan(20);
      expect(total).toBeLessThanOrEqual(holding.length);
    });

    it(`in a session of ${entries} entries is still the window after it is opened once more`, async () => {
      const path = join(scratchFolder(), "long.jsonl");
      writeSessionFile(path, { entries, windows: 4, seed: 8 });
      const s = await pi({
        session: { path },
        contextWindow: 100_000_000,
        next: (_request, n) => (n === 0 ? using(2_000, text("OLD"), call("new_context")) : using(1_000, text("done"))),
      });
      await s.prompt("carry on");
      expect(first(s.requests[1])).toContain("window, w5");
      await s.dispose();
      const again = await pi({ session: { path }, contextWindow: 100_000_000, next: () => "resumed" });
      await again.prompt("more");
      expect(again.requests).toHaveLength(1);
      expect(first(again.requests[0])).toBe(first(s.requests[1]));
      expect(again.requests[0]?.messages.slice(1).map(plainText)).toEqual(["done", "more"]);
      const windows = await again.callTool("history_list_windows", {});
      expect(textOf({ content: windows.content })).toContain('"total":5');
    });
  }
});

describe("six windows that were fenced when they were full", () => {
  it("are gone on with by a Pi without this package, whose own compaction still runs on them", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => {
        const [window, at] = [Math.floor(n / 3), n % 3];
        if (window === 6) return using(2_000, text("six windows later"));
        if (at === 0) return using(100_000, text(`part ${window} ${LONG.repeat(5)}`), call("slow", { ms: 1 }));
        return at === 1
          ? using(185_000, text(LONG.repeat(5)), call("slow", { ms: 1 }))
          : using(186_000, note(`w${window}.md`));
      },
    });
    await s.prompt("work through all of it");
    await s.settled({ quietChecks: 30 });
    expect(s.requests).toHaveLength(19);
    expect(controls(s, "fallback")).toHaveLength(6);
    expect(first(s.requests[18])).toContain("window, w7");
    for (let window = 0; window < 6; window++) expect(first(s.requests[18])).toContain(`/root/notes/w${window}.md`);
    // Newer hosts come to their own threshold in the run, 0.73.1 at its end; each time only old windows were dropped.
    const dropped = compactions(s).map(({ details }) => (details as { consolidates?: string }).consolidates);
    expect(dropped.every((one) => one !== undefined)).toBe(true);
    expect(["w6", "w7"]).toContain(dropped.at(-1));
    const path = s.session.sessionFile ?? "";
    await s.dispose();

    const bare = await pi({
      bare: true,
      session: { path },
      next: () => using(2_000, text(`an answer or a summary ${LONG.repeat(25)}`)),
    });
    await bare.prompt("hello without the package");
    expect(bare.requests).toHaveLength(1);
    expect(whole(bare.requests[0])).toContain("fresh context window, w7");
    expect(whole(bare.requests[0])).not.toContain("part 0");
    expect(last(bare.requests[0])).toContain("hello without the package");
    await bare.prompt("and once more");
    await bare.prompt("and again");
    const before = bare.requests.length;
    expect(before).toBe(3);
    await bare.session.compact();
    // The host's summarizer was asked, and what it keeps goes on.
    expect(bare.requests.length).toBeGreaterThan(before);
    const asked = bare.requests.length;
    await bare.prompt("still there?");
    expect(bare.requests).toHaveLength(asked + 1);
    expect(whole(bare.requests[asked])).toContain("still there?");
  });
});
