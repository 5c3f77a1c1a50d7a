// Calls that never reach a tool (unknown names, arguments that the host refuses) fire no event of ours: the window fills
// all the same, and its reminder and its fence come all the same.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, controls, first, pi, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const CALLS = {
  "of unknown tools": () => call("nosuch", {}),
  "with arguments that the host refuses": () => call("slow", { ms: "soon" }),
};

describe("a run of calls", () => {
  for (const [what, failing] of Object.entries(CALLS)) {
    it(`${what} gets its reminder and its fence, and changes windows`, async () => {
      const s = await pi({
        factories: [slowTool],
        next: (request, n) => {
          if (whole(request).includes("Checkpoint required"))
            return using(190_000, call("notes_write_file", { path: "checkpoint.md", text: "state" }));
          if (first(request).includes("window, w2")) return using(5_000, text("done"));
          if (n > 30) return using(1_000, text("gave up"));
          return using(Math.min(100_000 + n * 15_000, 199_000), failing());
        },
      });
      await s.prompt("go");
      expect(controls(s, "reminder")).toHaveLength(1);
      expect(controls(s, "fallback")).toHaveLength(1);
      expect(first(s.requests.at(-1))).toContain("window, w2");
      expect(s.requests.length).toBeLessThanOrEqual(11);
    });
  }
});
