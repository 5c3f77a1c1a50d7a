// Whose notes and which of them a person means by what is typed behind /notes.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NotesStore } from "../../src/notes/store.ts";
import { type NotesView, notesAt } from "../../src/ui/notes.ts";
import { temporaryDirectory } from "../storage/disks.ts";

const AGENTS = ["/root", "/root/reviewer", "/root/reviewer/checker", "/root/runner (restricted)"];

async function view(own = "/root"): Promise<NotesView> {
  const root = temporaryDirectory();
  const stores = new Map<string, NotesStore>();
  for (const shown of AGENTS) {
    const [agent = ""] = shown.split(" ");
    const store = new NotesStore({ root: join(root, agent), agent });
    await store.write("plan.md", `the plan of ${agent}`);
    if (agent === "/root") await store.write("re: mail.md", "about mail");
    stores.set(agent, store);
  }
  return {
    agent: own,
    agents: AGENTS,
    notesOf: (agent) => {
      const store = stores.get(agent);
      if (store === undefined || agent === "/root/runner") throw new Error(`${agent} is restricted`);
      return store;
    },
  };
}

describe("/notes", () => {
  it.each([
    ["plan.md", "/root"],
    ["main agent: plan.md", "/root"],
    ["main: plan.md", "/root"],
    ["/root: plan.md", "/root"],
    ["/root:plan.md", undefined],
    ["reviewer: plan.md", "/root/reviewer"],
    ["/root/reviewer: plan.md", "/root/reviewer"],
    ["reviewer/c: plan.md", "/root/reviewer/checker"],
    ["/root/reviewer/ch: plan.md", "/root/reviewer/checker"],
    ["/root/reviewer/notes/plan.md", "/root/reviewer"],
  ])("takes an agent by name, by address and by the beginning of either: %s", async (typed, agent) => {
    const answer = () => notesAt(shown, typed);
    const shown = await view();
    if (agent === undefined) expect(answer).toThrow(/^No agent is called/);
    else expect(answer()).toMatch(new RegExp(`\\nthe plan of ${agent}$`));
  });

  it("shows a child the notes of the main agent by its address", async () => {
    expect(notesAt(await view("/root/reviewer"), "/root: plan.md")).toMatch(/\nthe plan of \/root$/);
  });

  it("keeps to a path of one's own that has a colon in it", async () => {
    expect(notesAt(await view(), "re: mail.md")).toMatch(/\nabout mail$/);
  });

  it.each([
    ["/root/nobody: x", 'No agent is called "/root/nobody". There are main agent, reviewer, reviewer/checker, runner.'],
    ["/plan.md", 'No agent is called "/plan.md". There are main agent, '],
    ["r: x", '"r" is the beginning of reviewer, reviewer/checker, runner. Type more of the name.'],
    ["reviewer: ../x", 'No note is called "../x": its segment ".." is not a name.'],
    ["runner: plan.md", "/root/runner is restricted"],
  ])("says to a person what is wrong with %s", async (typed, problem) => {
    const shown = await view();
    expect(() => notesAt(shown, typed)).toThrow(problem);
  });

  it("says that there is no such note, and no such agent where one is named", async () => {
    const shown = await view();
    expect(notesAt(shown, "none")).toBe("No note begins with none. /notes lists the notes there are.");
    expect(notesAt(shown, "reviewer: none")).toContain("No note begins with reviewer: none.");
    expect(notesAt(shown, "nobody: none")).toContain(
      "nobody: none, and no agent is called nobody (there are main agent, ",
    );
  });
});
