// The starts of windows carry labels in the host's tree: given once, when a run has ended, and never over a person's own.
// A host whose fork cuts a session off at a label gets none.
import { describe, expect, it } from "vitest";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi, using } from "./support.ts";

closeAfterEach();

const note = () => call("notes_write_file", { path: "checkpoint.md", text: "the state" });

/** What the tree shows: labels with the kind of entry they stand at. */
function labelled(s: PiSession): readonly string[] {
  return s.branch().flatMap((entry) => {
    const label = s.sessionManager.getLabel(entry.id);
    const kind = entry.type === "message" ? entry.message.role : entry.type;
    return label === undefined ? [] : [`${label} ${kind}`];
  });
}

const labelEntries = (s: PiSession) => s.branch().filter(({ type }) => type === "label");

const isCutAtLabels = currentHostName() === "0.73.1";

it.runIf(isCutAtLabels)("sets none where forks are cut off at them", async () => {
  const s = await pi({
    next: (_request, n) => (n % 2 === 0 ? [note(), call("new_context")] : using(2_000, text("done"))),
  });
  for (const words of ["one", "two", "three"]) await s.prompt(words);
  expect(labelEntries(s)).toEqual([]);
});

// 0.73.1 has none, which the test above and that of forks see.
describe.skipIf(isCutAtLabels)("where forks keep what stands before a label", () => {
  it("names windows by tool, by hand and without a note, with no request more", async () => {
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        if (n === 1) return [note(), call("new_context")];
        return n === 4 ? [note()] : using(2_000, text(`answer ${n}`));
      },
    });
    await s.prompt("one");
    expect(labelled(s)).toEqual([]);
    await s.prompt("two");
    expect(labelled(s)).toEqual(["w2 toolResult"]);
    await s.prompt("three");
    await s.session.prompt("/context new");
    await s.settled();
    expect(labelled(s)).toEqual(["w2 toolResult", "w3 toolResult"]);
    await s.prompt("more");
    s.ui.confirms = true;
    await s.session.prompt("/context new --without-note");
    await s.prompt("four");
    expect(labelled(s)).toEqual(["w2 toolResult", "w3 toolResult", "w4 user"]);
    await s.prompt("five");
    expect(labelEntries(s)).toHaveLength(3);
    expect(s.requests).toHaveLength(8);
  });

  it("leaves a person's own label, and does not bring back one that was taken away, also when the session is opened again", async () => {
    const s = await pi({
      next: (_request, n) => (n % 2 === 0 ? [note(), call("new_context")] : using(2_000, text("done"))),
    });
    await s.prompt("one");
    await s.prompt("two");
    const [second, third] = s.branch().filter(({ id }) => s.sessionManager.getLabel(id) !== undefined);
    s.sessionManager.appendLabelChange(second?.id ?? "", "the good one");
    s.sessionManager.appendLabelChange(third?.id ?? "", undefined);
    await s.prompt("three");
    expect(labelled(s)).toEqual(["the good one toolResult", "w4 toolResult"]);
    const path = s.session.sessionFile ?? "";
    await s.dispose();
    const again = await pi({ session: { path }, next: () => "hello" });
    await again.prompt("four");
    expect(labelled(again)).toEqual(["the good one toolResult", "w4 toolResult"]);
  });

  it("names them on the branch that is shown, and once where branches share a start", async () => {
    const s = await pi({
      next: (_request, n) => (n % 2 === 0 ? [note(), call("new_context")] : using(2_000, text("done"))),
    });
    await s.prompt("one");
    await s.prompt("two");
    const start = s.branch().find(({ id }) => s.sessionManager.getLabel(id) === "w2");
    await s.session.navigateTree(start?.id ?? "", { summarize: false });
    await s.prompt("another way");
    expect(labelled(s)).toEqual(["w2 toolResult", "w3 toolResult"]);
  });
});
