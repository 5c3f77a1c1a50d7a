// A program with one child session: it prompts it once and ends as the test says, without another word to anybody.
import { createTokenBudgetExtension, type TaskMembership } from "../../../api.ts";
import { openPi } from "../../../fixtures/pi/session.ts";

const [membership, answer, end] = JSON.parse(process.argv[2] ?? "") as [TaskMembership, string, "exit" | "dispose"];
const child = await openPi({
  bare: true,
  factories: [createTokenBudgetExtension({ task: membership })],
  next: () => answer,
});
await child.session.prompt("Say your last words.");
if (end === "exit") process.exit(0);
child.session.dispose();
