// What a person types and sees, on every host: the status line, the commands, and the switch.
import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, compactions, controls, first, pi, SHORT_COMPACTION, said, using, whole } from "./support.ts";

closeAfterEach();

const LONG = "x".repeat(2_000);
const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state of w1" });
const STATUS = "pi-token-budget";

describe("the status line", () => {
  it("names the window and what is left of it, the checkpoint while it is awaited, and the new window", async () => {
    const seen: (string | undefined)[] = [];
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        seen.push(s.ui.statuses.get(STATUS));
        if (n === 0) return using(100_000, text("answer"));
        return n === 1 ? using(150_000, note()) : using(20_000, text("on we go"));
      },
    });
    expect(s.ui.statuses.get(STATUS)).toBe("w1 · 100 % left");
    await s.prompt("hello");
    expect(s.ui.statuses.get(STATUS)).toBe("w1 · 50 % left");
    await s.session.prompt("/context new");
    await s.settled();
    expect(seen[1]).toBe("w1 · checkpoint…");
    await s.prompt("more");
    expect(s.ui.statuses.get(STATUS)).toBe("w2 · 90 % left");
    await said(s, "/token-budget off");
    expect(s.ui.statuses.get(STATUS)).toBeUndefined();
    await said(s, "/token-budget on");
    expect(s.ui.statuses.get(STATUS)).toBe("w2 · 90 % left");
  });
});

describe("messages of ours", () => {
  it("are none of them shown as chat, whichever they are", async () => {
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        if (n === 0) return using(155_000, call("bash", { command: "echo one" }));
        if (n === 1) return using(190_000, call("bash", { command: "echo two" }));
        return n === 2 ? using(191_000, note()) : using(5_000, text("on we go"));
      },
    });
    await s.prompt("go");
    await said(s, "/context new");
    const own = s
      .branch()
      .filter((entry) => entry.type === "custom_message" && entry.customType.startsWith("pi-token-budget:")) as {
      customType: string;
      display: boolean;
    }[];
    const kinds = own.map(({ customType }) => customType);
    expect(kinds).toEqual(expect.arrayContaining(["pi-token-budget:reminder", "pi-token-budget:fallback"]));
    expect(own.filter(({ display }) => display)).toEqual([]);
    expect(s.ui.notices.filter(({ message }) => message.includes("\n"))).toEqual([]);
  });
});

describe("/token-budget off", () => {
  it("lifts a fence, and takes its message and everything else of ours out of later requests", async () => {
    const s = await pi({
      ui: true,
      next: (_request, n) =>
        n === 0 ? using(190_000, text("long")) : n === 2 ? [call("bash", { command: "echo ran" })] : "ok",
    });
    await s.prompt("hello");
    await s.prompt("more");
    expect(controls(s, "fallback")).toHaveLength(1);
    await expect.poll(() => s.ui.statuses.get(STATUS)).toBe("w1 · checkpoint due");
    expect(await said(s, "/token-budget off")).toContain("Pi compacts by itself");
    await s.prompt("now run it");
    expect(s.toolResults().at(-1)).toMatchObject({ isError: false, text: expect.stringContaining("ran") });
    expect(whole(s.requests.at(-1))).not.toMatch(/Checkpoint required|Identity|pi-token-budget/);
    expect(await said(s, "/token-budget off")).toContain("off in this session already");
  });

  it("gives native compaction back, and a session that is opened again stays off", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      next: (request, n) =>
        whole(request).includes("<conversation>") && n > 2 ? "a summary by Pi" : `answer ${n} ${LONG}`,
    });
    for (const words of ["one", "two", "three"]) await s.prompt(words);
    await said(s, "/token-budget off");
    const result = await s.session.compact();
    expect(result.summary).toContain("a summary by Pi");
    expect(compactions(s)[0]?.details ?? {}).not.toHaveProperty("opens");
    const path = s.session.sessionFile ?? "";
    await s.dispose();

    const again = await pi({ ui: true, session: { path }, next: () => using(190_000, text("full")) });
    await again.prompt("hello again");
    await again.prompt("and again");
    expect(controls(again, "fallback")).toHaveLength(0);
    expect(again.ui.statuses.get(STATUS)).toBeUndefined();
    await said(again, "/token-budget on");
    await again.prompt("more");
    await again.prompt("more");
    expect(controls(again, "fallback")).toHaveLength(1);
  });

  it("leaves windows that are over behind, in later requests and in Pi's own compaction", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      next: (request, n) => {
        if (n === 0) return `the secret of the first window ${LONG}`;
        if (n === 1) return [note()];
        if (n === 2) return [call("notes_read_file", { path: "checkpoint.md" })];
        return whole(request).includes("<conversation>") ? "a summary by Pi" : `answer ${n} ${LONG}`;
      },
    });
    await s.prompt("first request");
    await said(s, "/context new");
    await s.prompt("second request");
    await said(s, "/token-budget off");
    await s.prompt("third request");
    expect(first(s.requests.at(-1))).toContain("window, w2");
    expect(whole(s.requests.at(-1))).not.toContain("secret of the first");
    expect(s.toolResults().at(-1)?.text).toContain("the state of w1");
    await s.prompt("fourth request");
    await s.prompt("fifth request");
    const before = s.requests.length;
    await s.session.compact();
    await s.settled();
    const summarized = s.requests.slice(before).map(whole).join();
    expect(summarized).toContain("fresh context window, w2");
    expect(summarized).not.toContain("secret of the first");
    expect(await said(s, "/windows")).toMatch(/w1 .*first request\n.*w2 /);
  });

  it("during a run takes what was queued for the model out of the next request", async () => {
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        if (n === 1) void s.session.prompt("/token-budget off");
        return n === 0 ? using(190_000, call("bash", { command: "echo one" })) : "done";
      },
    });
    await s.prompt("go");
    await s.prompt("more");
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
    expect(s.session.getActiveToolNames()).toContain("notes_read_file");
  });
});

describe("the commands", () => {
  it("/context says where each threshold comes from", async () => {
    const s = await pi({
      ui: true,
      settings: {
        tokenBudget: {
          defaults: { reminderRemainingFloorTokens: 30_000 },
          models: { "*": { hardRolloverUsedTokens: 150_000 } },
        },
      },
      next: () => using(100_000, text("answer")),
    });
    await s.prompt("hello");
    const lines = (await said(s, "/context")).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "Window w1 (main agent): in use",
        expect.stringMatching(/^Model: \S+, with a window of 200,000 tokens$/),
        "Used 100,000 tokens, left 100,000 (50 %)",
        "Reminder with 50,000 tokens left:",
        "Checkpoint with 20,480 tokens left:",
        "Checkpoint also at 150,000 tokens used, by hardRolloverUsedTokens, 50,000 tokens from now",
        "  reminderRemainingPercent 0.25: default",
        "  reminderRemainingFloorTokens 30,000: agent settings",
        "  hardRolloverUsedTokens 150,000: agent settings, model *",
        "  compaction.reserveTokens 16,384: agent settings",
        "Agents: main agent",
      ]),
    );
  });

  it("/notes lists, shows one without its control characters, and says so when there is none", async () => {
    const s = await pi({
      ui: true,
      next: (_request, n) =>
        n === 0
          ? [call("notes_write_file", { path: "plan/a.md", text: "red \u001b[31malarm\u0007\nnext 一" }), note()]
          : "done",
    });
    expect(await said(s, "/notes")).toBe("No notes yet");
    await s.prompt("write");
    expect(await said(s, "/notes")).toMatch(/^2 notes:\n {2}/);
    expect(await said(s, "/notes plan/a.md")).toMatch(/^plan\/a\.md .*\nred \\u001b\[31malarm\\u0007\nnext 一$/);
    expect(await said(s, "/notes plan")).toContain("1 note begins with plan:\n  plan/a.md");
    expect(await said(s, "/notes nothing")).toContain("No note begins with nothing");
    expect(await said(s, "/notes ../secret")).toContain("is not a name");
  });

  it("/token-budget doctor finds nothing in a sound session, and says what is wrong and how to mend it in another", async () => {
    const s = await pi({ ui: true, next: (_request, n) => (n === 0 ? [note()] : "done") });
    await s.prompt("hello");
    expect(await said(s, "/token-budget doctor")).toMatch(/^✓ versions: .*\n(✓ .*\n)+Nothing is wrong\.$/);
    const folder = /Storage in (.+)/.exec(await said(s, "/context"))?.[1] ?? "";
    chmodSync(folder, 0o755);
    const found = await said(s, "/token-budget doctor");
    expect(found).toContain(`→ chmod 700 ${JSON.stringify(folder)}`);
    expect(found).toMatch(/1 of \d+ needs fixing\.$/);

    const other = await pi({
      ui: true,
      tools: ["read", "notes_read_file"],
      settings: { tokenBudget: { enabledd: true } },
      next: () => "hello",
    });
    await other.prompt("hello");
    const report = await said(other, "/token-budget doctor");
    expect(report).toContain("✗ tools: missing: history_list_windows, ");
    expect(report).toMatch(/✗ settings: .*enabledd is no setting/);
  });

  it("say their usage on arguments they do not know", async () => {
    const s = await pi({ ui: true, next: () => "hello" });
    for (const name of ["context", "token-budget"])
      expect(await said(s, `/${name} sideways`)).toContain(`Usage:\n  /${name}`);
    expect(await said(s, "/token-budget")).toMatch(/^Windows are on in this session\.\nUsage:\n/);
    expect(await said(s, "/windows w9")).toBe('There is no window "w9": there is only w1. /windows lists them.');
  });

  it("print without a terminal interface, and print mode shows nothing else of ours", async () => {
    const ran = await runPi({ model: ["an answer"], prompt: "/context" });
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain("Window w1 (main agent): in use");
    const plain = await runPi({ model: ["an answer"], prompt: "hello" });
    expect(plain).toMatchObject({ code: 0, stdout: "an answer\n", stderr: "" });
    for (const { environment } of [ran, plain]) environment.remove();
  });
});
