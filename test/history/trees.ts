// Random session trees: everything a branch can hold, well formed or not, and moves between its entries.
import fc from "fast-check";
import { call, image, openerDetails, type TestLog, text } from "../log/branches.ts";
import { anyText } from "../log/texts.ts";

/** Contents that no host writes but a session file may hold. */
const MALFORMED: readonly ((log: TestLog) => void)[] = [
  (log) => log.user(42),
  (log) => log.user([null, 5, { type: "text" }, { type: "text", text: 7 }, text("kept")]),
  (log) => log.add({ type: "message", message: null }),
  (log) => log.add({ type: "message" }),
  (log) => log.add({ type: "unheard_of", content: "x" }),
  (log) => log.message({ role: "wizard", content: "spell" }),
  (log) => log.message({ role: "toolResult", content: "no call" }),
  (log) => log.message({ role: "toolResult", toolCallId: 7 as unknown as string, content: [text("odd id")] }),
  (log) => log.assistant({ type: "toolCall", id: "bare", name: "bash" }),
  (log) => log.assistant({ type: "toolCall", id: "a]\nb", name: "od]d", arguments: {} }),
  (log) => log.assistant({ type: "thinking", thinking: "hidden" }),
  (log) => log.assistant(),
  (log) => log.add({ type: "branch_summary", fromId: "x" }),
  (log) => log.add({ type: "compaction", summary: 5, details: { opens: 3 } }),
  (log) => log.add({ type: "message", timestamp: "yesterday", message: { role: "user", content: "late" } }),
  (log) => log.add({ type: "message", timestamp: undefined, message: { role: "user", content: "timeless" } }),
  (log) => log.add({ type: "custom_message", customType: 9, content: { no: "blocks" } }),
  (log) => log.message({ role: "bashExecution", command: { no: "text" } }),
  (log) =>
    log.message({ role: "system", content: "", sections: { rules: "call\n[", gone: null }, toolsAdded: [{ a: 1 }] }),
  (log) => log.message({ role: "system", content: "system", sections: ["odd"], toolsRemoved: "none" }),
  (log) => log.message({ role: "branchSummary", content: "no", summary: "a call" }),
  (log) => log.message({ role: "compactionSummary", content: "no" }),
  (log) => log.assistant({ type: "toolCall", id: "x", name: "bash", arguments: {}, argumentsError: "null is no call" }),
  (log) =>
    log.add({ type: "message", id: `not hex ${log.entries.length}`, message: { role: "user", content: "named" } }),
  (log) =>
    log.add({
      type: "message",
      id: `😀-${log.entries.length}`,
      message: { role: "user", content: [image(), text("named")] },
    }),
];

type Step = (log: TestLog) => void;

const TOOLS = ["bash", "read", "notes_write_file", "history_read_item", "日本", "a b"];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.user([text(value)]),
    ),
  },
  {
    weight: 2,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.user(value),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(anyText, anyText).map(
      ([a, b]): Step =>
        (log) =>
          void log.user([text(a), image(b), text(b), image("b", "image/webp")]),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        said: anyText,
        names: fc.array(fc.constantFrom(...TOOLS), { maxLength: 3 }),
        arg: anyText,
        answered: fc.nat(3),
      })
      .map(
        ({ said, names, arg, answered }): Step =>
          (log) => {
            const ids = names.map((_name, at) => `call_${(log.entries.length + at) % 11}`);
            log.assistant(
              text(said),
              ...names.map((name, at) => call(ids[at] as string, name, { [arg]: arg, n: [1, null] })),
            );
            for (const [at, name] of names.slice(0, answered).entries())
              log.result(ids[at] as string, name, arg + said);
          },
      ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(11), anyText).map(
      ([id, value]): Step =>
        (log) =>
          void log.result(`call_${id}`, "late", value),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(2).map(
      (others): Step =>
        (log) => {
          // An opener amid its batch: results before and after it, and a message in between.
          log.assistant(call("o1", "bash"), call("o2", "new_context"), call("o3", "read"));
          if (others > 0) log.result("o1", "bash", "before");
          log.result("o2", "new_context", "opened", openerDetails(7));
          if (others > 1) log.user("between");
          log.result("o3", "read", "after");
        },
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((log) => void log.openingMessage(3)) },
  { weight: 1, arbitrary: fc.constant<Step>((log) => void log.openingEntry(5)) },
  { weight: 1, arbitrary: fc.constant<Step>((log) => void log.compaction("by the host")) },
  { weight: 1, arbitrary: fc.constant<Step>((log) => void log.compaction("ours", openerDetails(4, "overflow"))) },
  {
    weight: 1,
    arbitrary: fc.constant<Step>(
      (log) => void log.compaction("again", { consolidates: "w1", bootstrap: "b", bootstrapTimestamp: 1 }),
    ),
  },
  {
    weight: 1,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.branchSummary(value),
    ),
  },
  {
    weight: 1,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.customMessage("other:hint", value),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((log) => void log.custom("pi-token-budget:mark", { requestId: "r" })) },
  {
    weight: 1,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.bash(value, value),
    ),
  },
  {
    weight: 1,
    arbitrary: anyText.map(
      (value): Step =>
        (log) =>
          void log.message({ role: "system", content: value }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...MALFORMED).map(
      (add): Step =>
        (log) =>
          add(log),
    ),
  },
);

export type Move =
  | { readonly type: "steps"; readonly steps: readonly Step[] }
  | { readonly type: "go"; readonly to: number };

/** Ways through a session: steps at the leaf, and jumps to any entry. */
export const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.array(step, { minLength: 1, maxLength: 6 }).map((steps): Move => ({ type: "steps", steps })),
    },
    { weight: 1, arbitrary: fc.nat(1_000).map((to): Move => ({ type: "go", to })) },
  ),
  { minLength: 1, maxLength: 8 },
);

export function apply(log: TestLog, move: Move): void {
  if (move.type === "steps") for (const add of move.steps) add(log);
  else log.goTo(log.entries[move.to % (log.entries.length + 1)]?.id ?? null);
}
