// What a new window knows of the work before it, and what it does not carry along.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Answer, call, type RequestMessage, text } from "../../fixtures/pi/scripted-model.ts";
import { rings } from "../../fixtures/story/png.ts";
import { GUIDANCE } from "../../src/prompts.ts";
import { closeAfterEach, first, last, pi, roles, using } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state" });
const PICTURE = { type: "image", data: rings(24, 3).toString("base64"), mimeType: "image/png" } as const;

/** The previews of an answer in JSON Lines. */
function previews(answer = ""): string[] {
  const rows = answer.split("\n").map((line) => JSON.parse(line) as { preview?: string });
  return rows.flatMap((row) => row.preview ?? []);
}

it("the last request can be read verbatim with the one call that stands in the bootstrap", async () => {
  const request = `Please translate:\n${Array.from({ length: 250 }, (_none, i) => `第${i}行 line 🎉`).join("\n")}`;
  const s = await pi({
    next: (shown, n) => {
      if (n === 0) return [call("new_context")];
      const found = /history_list_items (\{[^}]*\}) for the requests/.exec(first(shown));
      return n === 1 ? [call("history_list_items", JSON.parse(found?.[1] ?? "{}"))] : "done";
    },
  });
  await s.prompt(request);
  expect(s.requests).toHaveLength(3);
  const read = s.toolResults().at(-1);
  expect(read?.isError).toBe(false);
  expect(previews(read?.text)).toEqual([request]);
});

it("the bootstrap names the files edited last, with the item of the change", async () => {
  const edits = Array.from({ length: 7 }, (_none, i) => call("write", { path: `src/f${i}.ts`, content: `${i}` }));
  const s = await pi({
    next: (_request, n) => {
      if (n < 7) return [edits[n] as ReturnType<typeof call>];
      if (n === 7) return [call("edit", { path: "src/f5.ts", edits: [{ oldText: "5", newText: "five" }] })];
      return n === 8 ? [call("new_context")] : "done";
    },
  });
  await s.prompt("write them");
  expect(readFileSync(join(s.project, "src/f5.ts"), "utf8")).toBe("five");
  const listed = /Files changed last.*\n((?:.+ — \w+ — w1\n?)+)/.exec(first(s.requests.at(-1)))?.[1] ?? "";
  const rows = listed
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" — "));
  expect(rows.map(([path]) => path)).toEqual(["src/f5.ts", "src/f6.ts", "src/f4.ts", "src/f3.ts", "src/f2.ts"]);
  for (const [path, id] of rows) {
    const entry = s.branch().find((one) => one.id === id);
    expect(JSON.stringify(entry)).toContain(path);
  }
});

describe("answered and open requests", () => {
  it("a request that was answered before the change is marked so, and the open one is not", async () => {
    const s = await pi({ next: (_request, n) => (n === 2 ? [call("new_context")] : `answer ${n}`) });
    await s.prompt("first, finished");
    await s.prompt("second, finished");
    await s.prompt("third, open");
    const lead = first(s.requests[3]);
    expect(lead).toMatch(/\w+ — w1 \(answered\) — first, finished\n\w+ — w1 \(answered\) — second, finished\n/);
    expect(lead).toMatch(/The latest request is still open:\n<request id="\w+" window="w1">\nthird, open/);
  });

  it("a change after the answer says that nothing of it is to be done again", async () => {
    const s = await pi({
      ui: true,
      next: (request) => (last(request).includes("Checkpoint required") ? [note()] : "finished"),
    });
    await s.prompt("the only request");
    await s.session.prompt("/context new");
    await s.settled();
    await s.prompt("thanks");
    expect(first(s.requests.at(-1))).toContain("The latest request got a final answer; do not do it again:");
  });
});

it("a session in memory changes windows by a fence, an overflow and by hand like any other", async () => {
  const overflow: Answer = { content: [], stopReason: "error", errorMessage: "prompt is too long: 2 > 1 maximum" };
  const s = await pi({
    session: "memory",
    ui: true,
    factories: [slowTool],
    next: (request, n) => {
      if (n === 0) return using(185_000, call("slow", { ms: 1 }));
      if (n === 1) return using(186_000, note());
      if (n === 3) return overflow;
      return last(request).includes("Checkpoint required") ? [note("second.md")] : using(1_000, text(`answer ${n}`));
    },
  });
  await s.prompt("one");
  expect(first(s.requests[2])).toContain("window, w2");
  await s.prompt("two", { quietChecks: 30 });
  expect(first(s.requests[4])).toContain("window, w3");
  await s.session.prompt("/context new");
  await s.settled();
  await s.prompt("three");
  expect(s.requests).toHaveLength(7);
  expect(first(s.requests[6])).toContain("window, w4");
  expect(first(s.requests[6])).toContain("/root/notes/second.md");
  expect(s.session.sessionFile).toBeUndefined();
});

it("after a change no old image is in any request, and it can still be read back", async () => {
  const picture: typeof slowTool = (api) =>
    api.registerTool({
      name: "picture",
      label: "picture",
      description: "Shows a picture.",
      parameters: { type: "object", properties: {} } as never,
      execute: async () => ({ content: [{ type: "text", text: "here" }, { ...PICTURE }], details: {} }),
    } as never);
  const images = (messages: readonly RequestMessage[] = []) =>
    messages.flatMap((message) =>
      Array.isArray(message.content) ? message.content.filter((block) => block.type === "image") : [],
    );
  let asked = "";
  const s = await pi({
    factories: [picture],
    next: (_request, n) => {
      if (n === 0) return [call("picture")];
      if (n === 1) return [call("new_context")];
      if (n === 3) return [call("history_read_item", { item_id: asked, window_id: "w1" })];
      return "done";
    },
  });
  await s.prompt("look at this", { images: [{ ...PICTURE }] });
  expect(images(s.requests[1]?.messages)).toHaveLength(2);
  asked = s.toolResults()[0]?.id ?? "";
  await s.prompt("and now?");
  expect(s.requests).toHaveLength(5);
  expect(images(s.requests[2]?.messages)).toEqual([]);
  expect(images(s.requests[3]?.messages)).toEqual([]);
  // Only what was asked for comes back.
  expect(images(s.requests[4]?.messages)).toHaveLength(1);
});

it("the guidance holds an explicit note contract: what to write, when, how big, with ids", async () => {
  const s = await pi({ next: () => "done" });
  await s.prompt("hello");
  const prompt = s.requests[0]?.systemPrompt ?? "";
  expect(prompt).toContain(GUIDANCE);
  const contract = /Notes contract\.([\s\S]*?)\n\n/.exec(GUIDANCE)?.[1] ?? "";
  for (const said of [
    "Write checkpoint.md when you have a plan, and update it after each finished step",
    "not only at the end",
    "Put in: the user's goal",
    "window and item ids",
    "under about 4,000 characters",
  ])
    expect(contract).toContain(said);
  expect(GUIDANCE).not.toMatch(/good idea|you may want|consider |if possible/i);
});

it("the natural first call, eight user items newest first in full, is one short answer with the newest request whole", async () => {
  const s = await pi({
    next: (_request, n) => {
      if (n === 10) return [call("new_context")];
      if (n === 11)
        return [call("history_list_items", { role: "user", recent_first: true, limit: 8, max_chars_per_item: 5_000 })];
      return `answer ${n}`;
    },
  });
  const long = "長い依頼 🎉 ".repeat(600);
  for (let i = 0; i < 10; i++) await s.prompt(`request ${i}`, { quietChecks: 3 });
  await s.prompt(long);
  expect(s.requests).toHaveLength(13);
  expect(roles(s.requests[12])).toEqual(["user", "assistant", "toolResult"]);
  const answer = s.toolResults().at(-1)?.text ?? "";
  expect(Array.from(answer).length).toBeLessThanOrEqual(12_000);
  const shown = previews(answer);
  expect(shown).toHaveLength(8);
  expect(shown[0]).toBe(long);
  expect(shown.slice(1)).toEqual([9, 8, 7, 6, 5, 4, 3].map((i) => `request ${i}`));
});
