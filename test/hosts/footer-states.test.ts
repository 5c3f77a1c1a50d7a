// What the footer says of states that last: a checkpoint that waits for the next message, and a window without a note.
import { expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi, using } from "./support.ts";

closeAfterEach();

const footer = (s: PiSession) => s.ui.statuses.get("pi-token-budget");
const becomes = (s: PiSession, text: string) =>
  expect.poll(() => footer(s), { timeout: 1_000, interval: 25 }).toBe(text);
const note = () => call("notes_write_file", { path: "checkpoint.md", text: "the state" });

it("an overfull chat waits for its checkpoint: due while nothing runs, under way while the model is asked", async () => {
  const seen: (string | undefined)[] = [];
  const s = await pi({
    ui: true,
    next: (_request, n) => {
      seen.push(footer(s));
      if (n === 0) return using(190_000, text("long"));
      return n === 1 ? using(191_000, text("I just talk")) : n === 2 ? [note()] : using(2_000, text("on we go"));
    },
  });
  await s.prompt("hello");
  await s.prompt("more");
  await becomes(s, "w1 · checkpoint due");
  await s.prompt("and more");
  expect(seen[2]).toBe("w1 · checkpoint…");
  await becomes(s, "w2 · 99 % left");
});

it("a window that an overflow opened says so as long as it is the window", async () => {
  const s = await pi({
    ui: true,
    next: (_request, n) =>
      n === 1
        ? { content: [], stopReason: "error", errorMessage: "prompt is too long: 210000 tokens > 200000 maximum" }
        : n === 3
          ? [note(), call("new_context")]
          : using(1_000, text(`answer ${n}`)),
  });
  await s.prompt("hello");
  await s.prompt("go on");
  await becomes(s, "w2 · 99 % left · opened without a note");
  await s.prompt("more");
  await becomes(s, "w3 · 99 % left");
});
