// The command with real bridges, small programs that show one thing each: what passes, where plans stand, how it all ends.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { openPlanSocket } from "../../src/acp/plan-socket.ts";
import { ACP_SOCKET_VARIABLE, planLine } from "../../src/acp/wire.ts";
import { SOCKET_PATH_MAX_BYTES, socketBases } from "../../src/storage/socket-folder.ts";
import { type Running, startCommand, until } from "./editor.ts";

interface Finished extends Awaited<Running["exit"]> {
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs the command with this input, then closes it. */
async function run(args: readonly string[], input: Buffer | string = "", env = {}): Promise<Finished> {
  const { child, exit, stderr } = startCommand(args, { env });
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stdin?.end(input);
  const ended = await exit;
  return { ...ended, stdout: Buffer.concat(chunks), stderr: stderr() };
}

/** Runs the command and leaves its input open. */
function start(args: readonly string[], env = {}): Running & { stdout(): string } {
  const running = startCommand(args, { env });
  let stdout = "";
  running.child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  return { ...running, stdout: () => stdout };
}

/** Something has come from the command; all but that is left unread. */
async function firstOutput({ stdout }: Running["child"]): Promise<void> {
  await new Promise((resolve) => stdout?.once("readable", resolve));
}

const STEADY_CHECKS = 10;

/** The memory of the command when it has taken all that it will take while nobody reads. */
async function heldKilobytes({ pid }: Running["child"]): Promise<number> {
  let kilobytes = 0;
  let steady = 0;
  await until("a command that takes no more", () => {
    const [, now] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    steady = Number(now) > kilobytes ? 0 : steady + 1;
    kilobytes = Math.max(kilobytes, Number(now));
    return steady === STEADY_CHECKS;
  });
  return kilobytes;
}

/** A bridge of a few lines of JavaScript. */
const bridge = (source: string) => ["--", process.execPath, "-e", source];
/** Sets `push(entries)` and `say(text)`. */
const CONNECTED = `
const socket = require("node:net").connect(process.env.${ACP_SOCKET_VARIABLE});
const push = (entries) => socket.write(JSON.stringify({ sessionId: "s", entries }) + "\\n");
const say = (text) => process.stdout.write(text);
const later = (f) => setTimeout(f, 150);
`;
const entry = { content: "one", priority: "medium", status: "pending" } as const;
const NEW = '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}\n';
const OPENED = '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}';

/** Bytes of every kind, lines of every length. */
function mixture(): Buffer {
  const every = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
  const long = Buffer.alloc(5_000_001, "二");
  return Buffer.concat([
    every,
    Buffer.from("\r\n\n{not json}\n"),
    long,
    Buffer.from("\n"),
    every,
    Buffer.from("no end"),
  ]);
}

describe("what passes", () => {
  it("is every byte in both directions, whatever the lines look like", async () => {
    const ran = await run(["--", "cat"], mixture());
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout.equals(mixture())).toBe(true);
  });

  it("is what the bridge says on standard error", async () => {
    expect((await run(bridge("console.error('of the bridge')"))).stderr).toBe("of the bridge\n");
  });

  it("is held in the bridge while the client does not read", async () => {
    const { child, exit } = startCommand(bridge("process.stdout.write(Buffer.alloc(150_000_000, 'a'))"));
    await firstOutput(child);
    expect(await heldKilobytes(child)).toBeLessThan(120_000);
    let bytes = 0;
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    child.stdout?.resume();
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(bytes).toBe(150_000_000);
  });
});

describe("a plan", () => {
  it("comes behind the response of session/new, and never inside a line", async () => {
    const source = `${CONNECTED}
      push([${JSON.stringify(entry)}]);
      later(() => say('{"early":true}\\n'));
      process.stdin.once("data", () => {
        say('${OPENED}');
        later(() => {
          say('\\r\\n{"half":');
          push([]);
          later(() => { say('1}\\n{"last":1}\\n'); process.exit(); });
        });
      });`;
    const { child, exit, stdout } = start(bridge(source));
    await until("the push", () => stdout().includes("early"));
    child.stdin?.write(NEW);
    expect(await exit).toEqual({ code: 0, signal: null });
    const full = planLine({ sessionId: "s", entries: [entry] });
    const empty = planLine({ sessionId: "s", entries: [] });
    expect(stdout()).toBe(`{"early":true}\n${OPENED}\r\n${full}{"half":1}\n${empty}{"last":1}\n`);
  });

  it("comes at once between two lines", async () => {
    const source = `${CONNECTED} process.stdin.once("data", () => { say('${OPENED}\\n'); later(() => push([${JSON.stringify(entry)}])); });`;
    const { child, exit, stdout } = start(bridge(source));
    child.stdin?.write(NEW);
    await until("the plan", () => stdout().includes("plan"));
    expect(child.exitCode).toBeNull();
    expect(stdout()).toBe(`${OPENED}\n${planLine({ sessionId: "s", entries: [entry] })}`);
    child.kill();
    await exit;
  });

  it("does not come from garbage, of which one line is told", async () => {
    const source = `${CONNECTED}
      process.stdin.once("data", () => {
        say('${OPENED}\\n');
        socket.write("garbage\\n{}\\n[1,2]\\n");
        push([${JSON.stringify(entry)}]);
        require("node:net").connect(process.env.${ACP_SOCKET_VARIABLE}).on("error", () => {}).end(Buffer.alloc(6_000_000, "x"));
        setTimeout(() => process.exit(), 1_000);
      });`;
    const ran = await run(bridge(source), NEW);
    expect(ran.stdout.toString()).toBe(`${OPENED}\n${planLine({ sessionId: "s", entries: [entry] })}`);
    expect(ran.stderr.trimEnd().split("\n").sort()).toEqual(
      [
        "pi-token-budget-acp: ignored on the plan socket: a line that is too long",
        'pi-token-budget-acp: ignored on the plan socket: "garbage"',
      ].sort(),
    );
  });

  it("is in no other version of the protocol, and the person is told", async () => {
    const source = `${CONNECTED}
      process.stdin.once("data", () => {
        say('{"id":0,"result":{"protocolVersion":2}}\\n${OPENED}\\n');
        push([${JSON.stringify(entry)}]);
        setTimeout(() => process.exit(), 500);
      });`;
    const ran = await run(bridge(source), `{"id":0,"method":"initialize","params":{"protocolVersion":2}}\n${NEW}`);
    expect(ran.stdout.toString()).not.toContain("plan");
    expect(ran.stderr).toBe(
      "pi-token-budget-acp: no plans will be shown: client and bridge speak another version of the protocol\n",
    );
  });
});

describe("the socket", () => {
  const tell = bridge(`console.log(process.env.${ACP_SOCKET_VARIABLE})`);

  it("is in a folder that only its owner can enter, while the bridge runs", async () => {
    const temporary = scratchFolder();
    const { child, exit } = startCommand(["--", "cat"], { env: { TMPDIR: temporary } });
    await until("the folder", () => readdirSync(temporary).length > 0);
    const folder = join(temporary, readdirSync(temporary)[0] ?? "");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await until("the socket", () => readdirSync(folder).length > 0);
    expect(statSync(join(folder, "plan.sock")).isSocket()).toBe(true);
    child.stdin?.end();
    await exit;
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("is the command's own when another command is around it", async () => {
    const ran = await run(tell, "", { [ACP_SOCKET_VARIABLE]: "/of/another" });
    expect(ran.stdout.toString()).toMatch(/plan\.sock\n$/);
  });

  it("is elsewhere when the temporary folder's path is too long for one", async () => {
    const long = join(scratchFolder(), "x".repeat(90));
    mkdirSync(long);
    const path = (await run(tell, "", { TMPDIR: long })).stdout.toString().trimEnd();
    expect(dirname(dirname(path))).toBe("/tmp");
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(SOCKET_PATH_MAX_BYTES);
  });

  it("is tried only where its path fits", () => {
    const fits = `/${"x".repeat(SOCKET_PATH_MAX_BYTES - "//pi-token-budget-acp-XXXXXX/plan.sock".length)}`;
    expect(socketBases([fits, `${fits}x`, "/tmp", "/tmp"])).toEqual([fits, "/tmp"]);
  });

  it("is elsewhere when there is no temporary folder", async () => {
    const ran = await run(tell, "", { TMPDIR: join(scratchFolder(), "none") });
    expect(ran.stdout.toString()).toMatch(/^\/tmp\/.*plan\.sock\n$/);
  });

  it("says why none can be made", async () => {
    const events = { onPush: () => undefined, onGarbage: () => undefined };
    await expect(openPlanSocket(events, ["/nowhere/at/all"])).rejects.toThrow("ENOENT");
    await expect(openPlanSocket(events, [])).rejects.toThrow("too long");
  });
});

describe("the end", () => {
  it("is the bridge's exit code", async () => {
    expect(await run(bridge("process.exit(7)"))).toMatchObject({ code: 7, signal: null });
  });

  it("is the signal that killed the bridge", async () => {
    const temporary = scratchFolder();
    const ran = await run(bridge("process.kill(process.pid, 'SIGKILL')"), "", { TMPDIR: temporary });
    expect(ran).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("is the bridge's when the command gets %s", async (signal) => {
    const temporary = scratchFolder();
    const source = `process.on("${signal}", () => { console.log("told"); process.exit(3); }); setInterval(() => {}, 1e6); console.log("ready");`;
    const { child, exit, stdout } = start(bridge(source), { TMPDIR: temporary });
    await until("the bridge", () => stdout().includes("ready"));
    child.kill(signal);
    expect(await exit).toEqual({ code: 3, signal: null });
    expect(stdout()).toBe("ready\ntold\n");
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("comes for a bridge that ignores closed input and SIGTERM", { timeout: 60_000 }, async () => {
    const stubborn = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6);`;
    expect(await run(bridge(stubborn))).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  it("comes when the client reads no more", async () => {
    const source = `setInterval(() => console.log("x".repeat(1000)), 5); process.stdin.resume().on("end", () => process.exit(4));`;
    const { child, exit } = startCommand(bridge(source));
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await exit).toMatchObject({ code: 4 });
  });

  it("comes with a signal when the client neither reads nor goes", { timeout: 60_000 }, async () => {
    const temporary = scratchFolder();
    const source = "process.stdout.write(Buffer.alloc(20_000_000, 'a'))";
    const { child } = startCommand(bridge(source), { env: { TMPDIR: temporary } });
    const exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    await firstOutput(child);
    await heldKilobytes(child);
    child.kill("SIGTERM");
    expect(await exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("does not wait for what the bridge has left behind", async () => {
    const source = `require("node:child_process").spawn("sleep", ["20"], { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref(); console.log("bye")`;
    const started = Date.now();
    expect(await run(bridge(source))).toMatchObject({ code: 0, stdout: Buffer.from("bye\n") });
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it("is 127 when there is no such bridge, 126 when it may not be run, and the way out is told", async () => {
    const folder = scratchFolder();
    const file = join(folder, "bridge");
    writeFileSync(file, "no program");
    chmodSync(file, 0o644);
    expect(await run([], "", { PATH: folder })).toMatchObject({
      code: 127,
      stderr:
        'pi-token-budget-acp: the bridge "pi-acp" was not found. Install it (npm install -g pi-acp), or name another bridge behind --.\n',
    });
    const other = await run(["--", "nosuch", "x"]);
    expect(other).toMatchObject({ code: 127, stdout: Buffer.alloc(0) });
    expect(other.stderr).toContain("give its whole path");
    const denied = await run(["--", file]);
    expect(denied.code).toBe(126);
    expect(denied.stderr).toContain("cannot be started");
  });
});

describe("the command line", () => {
  it.each(["--help", "-h"])("%s tells of the variable and the usage", async (option) => {
    const ran = await run([option]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout.toString()).toContain("Usage: pi-token-budget-acp");
    expect(ran.stdout.toString()).toContain(ACP_SOCKET_VARIABLE);
  });

  it("gives its other arguments to pi-acp", async () => {
    const folder = scratchFolder();
    const file = join(folder, "pi-acp");
    writeFileSync(file, '#!/bin/sh\necho "$@"\n');
    chmodSync(file, 0o755);
    const ran = await run(["--terminal-login", "--help"], "", { PATH: `${folder}:/bin:/usr/bin` });
    expect(ran).toMatchObject({ code: 0, stdout: Buffer.from("--terminal-login --help\n") });
  });

  it("wants a bridge behind --", async () => {
    const ran = await run(["--"]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("no command behind --");
  });
});
