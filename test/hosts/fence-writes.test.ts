// How writes are judged: under a fence by path and content, and anywhere by whether the message was cut off or the note
// is somebody else's.
import { describe, expect, it } from "vitest";
import { call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, first, pi, using } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const slow = () => call("slow", { ms: 1 });
const note = (path: string, value = "the state of things") => call("notes_write_file", { path, text: value });
const opensW2 = (request: Request | undefined) => first(request).includes("fresh context window, w2");

/** One wrong write under a fence, then a right one. */
async function underFence(wrong: ReturnType<typeof call>) {
  const s = await pi({
    factories: [slowTool],
    next: (_request, n) => {
      if (n === 0) return using(185_000, slow());
      if (n < 3) return using(186_000, n === 1 ? wrong : note("checkpoint.md"));
      return using(1_000, text("in w2"));
    },
  });
  await s.prompt("go");
  expect(s.requests).toHaveLength(4);
  expect(opensW2(s.requests[3])).toBe(true);
  return s.toolResults()[1];
}

describe("under a fence", () => {
  const faults: readonly (readonly [string, string])[] = [
    ["./checkpoint.md", 'its segment "." is not a name'],
    ["/checkpoint.md", "it starts with / but not with <agent address>/notes"],
    ["/root/checkpoint.md", "it starts with / but not with <agent address>/notes"],
    ["", "it is empty"],
    ["con.md", "reserved device name"],
    ["/root/other/notes/checkpoint.md", "a note of /root/other"],
  ];
  for (const [path, fault] of faults) {
    it(`a write to ${JSON.stringify(path)} is told what is wrong with that path, and one that works`, async () => {
      const refused = await underFence(note(path));
      expect(refused?.isError).toBe(true);
      expect(refused?.text).toContain(fault);
      expect(refused?.text).toContain("use the path checkpoint.md");
    });
  }

  it("a note of nothing but blanks is told what a checkpoint needs, and the next write passes", async () => {
    for (const wrong of [note("checkpoint.md", ""), note("checkpoint.md", " \n\t\u200b")]) {
      const refused = await underFence(wrong);
      expect(refused).toMatchObject({ isError: true });
      expect(refused?.text).toContain("the user's goal, what is done, what is next");
    }
  });
});

describe("a message that the output limit has cut off", () => {
  it("saves no note and opens no window", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 1) return { ...using(186_000, note("checkpoint.md", "half of the st")), stopReason: "length" };
        if (n === 2) return using(187_000, note("checkpoint.md"));
        if (n === 3) return { ...using(2_000, slow(), call("new_context")), stopReason: "length" };
        return using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    // Newer hosts refuse every call of such a message.
    const [, cut, saved, , opening] = s.toolResults();
    expect(cut).toMatchObject({ name: "notes_write_file", isError: true });
    expect(saved).toMatchObject({ name: "notes_write_file", isError: false });
    expect(opening).toMatchObject({ name: "new_context", isError: true });
    expect(opensW2(s.requests.at(-1))).toBe(true);
  });
});

describe("new_context", () => {
  it("is not kept shut by a refused write to another agent's note, and is by one to one's own", async () => {
    const s = await pi({
      next: (_request, n) => {
        if (n === 0) return using(20_000, note("../outside.md"));
        if (n === 1) return using(20_000, note("/root/nobody/notes/a.md"));
        if (n === 2) return using(20_000, call("new_context"));
        if (n === 3) return using(20_000, note("checkpoint.md"));
        if (n === 4) return using(20_000, note("/root/nobody/notes/a.md"));
        return n === 5 ? using(20_000, call("new_context")) : using(1_000, text("in w2"));
      },
    });
    await s.prompt("go");
    expect(s.toolResults().map(({ name, isError }) => [name, isError])).toEqual([
      ["notes_write_file", true],
      ["notes_write_file", true],
      ["new_context", true],
      ["notes_write_file", false],
      ["notes_write_file", true],
      ["new_context", false],
    ]);
    expect(opensW2(s.requests.at(-1))).toBe(true);
  });
});
