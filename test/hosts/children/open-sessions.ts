// Opens session files one after the other as Pi does, in a process that may be killed when one of them hangs. For each it
// says what came of it: `opened` (and how often our code read an entry), or the error.
import { enterEnvironment } from "../../../fixtures/pi/environment.ts";
import { openPi, type PiSession } from "../../../fixtures/pi/session.ts";

/** What the child says of a file, before and after it. */
export type Report =
  | { readonly type: "opening"; readonly file: string; readonly bare: boolean }
  | { readonly type: "opened"; readonly file: string; readonly bare: boolean; readonly answer: string }
  | { readonly type: "failed"; readonly file: string; readonly bare: boolean; readonly error: string }
  | { readonly type: "done" };

enterEnvironment();

const say = (report: Report) => new Promise<void>((sent) => process.send?.(report, undefined, {}, () => sent()));

/** The tools that walk a branch, on items of every branch. */
async function look(pi: PiSession, ids: readonly string[]): Promise<void> {
  await pi.callTool("history_list_windows", {});
  await pi.callTool("history_list_items", { limit: 5 });
  await pi.callTool("history_search_contents", { query: "message" });
  for (const id of ids) {
    // A wrong window is an error that names the right one: the walk is done either way.
    await pi.callTool("history_read_item", { item_id: id, window_id: "w1" }).catch(() => undefined);
  }
}

async function open(file: string, bare: boolean, ids: readonly string[]): Promise<string> {
  const pi = await openPi({ bare, session: { path: file }, next: () => "well" });
  try {
    await pi.prompt("Are you there?");
    if (!bare) await look(pi, ids);
    if (pi.errors.length > 0) throw new Error(pi.errors.join("\n"));
    const answer = pi.session.messages.findLast(({ role }) => role === "assistant");
    return answer && "content" in answer ? JSON.stringify(answer.content) : "nothing";
  } finally {
    await pi.dispose();
  }
}

const [jobs = "[]"] = process.argv.slice(2);
for (const { file, bare, ids } of JSON.parse(jobs) as { file: string; bare: boolean; ids: string[] }[]) {
  await say({ type: "opening", file, bare });
  try {
    await say({ type: "opened", file, bare, answer: await open(file, bare, ids) });
  } catch (error) {
    await say({ type: "failed", file, bare, error: error instanceof Error ? error.message : String(error) });
  }
}
await say({ type: "done" });
process.disconnect?.();
