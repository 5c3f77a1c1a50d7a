// A fork by the host's own means keeps every window: on hosts whose fork cuts a session off at a label, none is set.
import { expect, it } from "vitest";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi, roles, using } from "./support.ts";

closeAfterEach();

const note = () => call("notes_write_file", { path: "checkpoint.md", text: "the state" });

/** A session of three windows, and one run behind the newest of them. */
async function threeWindows(): Promise<PiSession> {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n % 2 === 0 && n < 4 ? [note(), call("new_context")] : using(2_000, text(`answer ${n}`))),
  });
  for (const words of ["one", "two", "three"]) await s.prompt(words);
  return s;
}

const messages = (s: PiSession) => s.branch().filter(({ type }) => type === "message").length;

/** What the host's `/fork` and `/clone` do with the session's file. */
async function forked(s: PiSession): Promise<string> {
  const { SessionManager } = (await loadHost()).codingAgent;
  const copy = SessionManager.open(s.session.sessionFile ?? "", `${s.directory}/forks`);
  return copy.createBranchedSession(copy.getLeafId() ?? "") ?? "";
}

/** Asks the session's extensions whether the host may fork it; what they answer. */
function askedToFork(s: PiSession, position: "before" | "at"): Promise<{ cancel?: boolean } | undefined> {
  const entries = s.branch().filter((entry) => entry.type === "message" && entry.message.role === "user");
  const event = { type: "session_before_fork", entryId: entries.at(-1)?.id ?? "", position };
  return s.session.extensionRunner.emit(event as never) as never;
}

it("keeps every window, every item and the messages of a request", async () => {
  const s = await threeWindows();
  await s.prompt("four");
  const fork = await pi({ ui: true, session: { path: await forked(s) }, next: () => "here" });
  expect(messages(fork)).toBe(messages(s));
  await fork.session.prompt("/windows");
  await s.session.prompt("/windows");
  const listed = fork.ui.notices.at(-1)?.message ?? "";
  expect(listed).toMatch(/^w1 .*\nw2 .*\nw3 \*/);
  expect(listed).toBe(s.ui.notices.at(-1)?.message);
  await fork.prompt("five");
  await s.prompt("five");
  expect(roles(fork.requests.at(-1))).toEqual(roles(s.requests.at(-1)));
  expect(await askedToFork(s, "at")).toBeUndefined();
});

it("is refused where the host would cut it off at a label, with the command that copies all", async () => {
  const s = await threeWindows();
  const labelled = s.branch().find(({ type }) => type === "message")?.id ?? "";
  s.sessionManager.appendLabelChange(labelled, "w2");
  await s.prompt("it's the last");
  const keepsLabelled = s.host.name !== "0.73.1";
  expect(messages(await pi({ session: { path: await forked(s) }, next: [] })) === messages(s)).toBe(keepsLabelled);
  expect(await askedToFork(s, "at")).toEqual(keepsLabelled ? undefined : { cancel: true });
  if (keepsLabelled) return;
  expect(s.ui.notices.at(-1)?.message).toContain(`pi --fork ${s.session.sessionFile}`);
  // The label itself is the last entry before the prompt: nothing would be lost but the label.
  expect(await askedToFork(s, "before")).toEqual(undefined);
});
