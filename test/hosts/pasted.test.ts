// A question asked behind a skill or a file, in a real session: the next window and every list show the question.
import { describe, expect, it } from "vitest";
import { call, textOf } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, first, pi } from "./support.ts";

closeAfterEach();

const SKILL = `<skill name="ledger" location="/skills/ledger/SKILL.md">\nReferences are relative to /skills/ledger.\n\n${"Keep books with care. ".repeat(400)}\n</skill>`;
const QUESTION = "Why do the totals of March differ?";

describe("a question behind an 8,000-character skill", () => {
  it("stands in the next window's bootstrap and in the list of the user's requests", async () => {
    const s = await pi({
      next: [
        [call("notes_write_file", { path: "checkpoint.md", text: "the state" })],
        [call("new_context", {})],
        [call("history_list_items", { role: "user", recent_first: true, max_chars_per_item: 100 })],
        "they do not",
      ],
    });
    await s.prompt(`${SKILL}\n\n${QUESTION}`);
    const bootstrap = first(s.requests[2]);
    expect(bootstrap).toContain("window, w2");
    expect(bootstrap).toContain(`\n${QUESTION}\n</request>`);
    expect(bootstrap).not.toContain("Keep books with care.");
    const listed = s.toolResults().find(({ name }) => name === "history_list_items")?.text ?? "";
    expect(listed).toContain(JSON.stringify(`[skill "ledger"] ${QUESTION}`));
    const offset = /"item_id":"(\w+)","window_id":"w1","offset_chars":(\d+)/.exec(bootstrap) ?? [];
    const read = await s.callTool("history_read_item", {
      item_id: offset[1],
      window_id: "w1",
      offset_chars: Number(offset[2]),
    });
    expect(textOf(read)).toContain(SKILL.slice(0, 60));
  });
});
