// The stand-in for pi-subagents keeps the contract: its checks, in their order, and one registration per session.
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { resolveSubagentLaunchContract } from "../doubles/pi-subagents/src/api/preflight.ts";
import {
  type RegisterInput,
  registerRequiredChildExtensions,
} from "../doubles/pi-subagents/src/api/required-child-extensions.ts";

const REGISTRY = Symbol.for("pi-subagents.required-child-extensions.v1");
afterEach(() => void Reflect.deleteProperty(globalThis, REGISTRY));

function file(name = "entry.ts"): string {
  const path = join(scratchFolder(), name);
  writeFileSync(path, "export default () => {};\n");
  return path;
}

const register = (input: unknown) => registerRequiredChildExtensions(input as RegisterInput);
const required = (parentSessionId: string) =>
  resolveSubagentLaunchContract({ agent: "scout", cwd: "/", parentSessionId }).contract.tools.requiredExtensionIds;

describe("the contract of required child extensions", () => {
  const path = file();
  const one = { id: "a", path };
  const folder = join(scratchFolder(), "folder");
  mkdirSync(folder);
  const refused: readonly (readonly [string, unknown, RegExp])[] = [
    ["no object", 7, /must be an object/],
    ["an array", [], /must be an object/],
    ["an instance of a class", new (class Input {})(), /plain object/],
    ["an unknown key", { sessionId: "s", extensions: [], more: 1 }, /unknown key "more"/],
    ["an unknown key before a bad session id", { sessionId: "", more: 1 }, /unknown key/],
    ["no session id", { extensions: [] }, /non-empty string/],
    ["a session id with white space", { sessionId: " s", extensions: [] }, /white space/],
    ["a long session id", { sessionId: "s".repeat(257), extensions: [] }, /longer than 256/],
    ["a session id with NUL", { sessionId: "s\0s", extensions: [] }, /NUL/],
    ["a bad session id before bad extensions", { sessionId: 1, extensions: 1 }, /sessionId/],
    ["a bad requireForAllRunners", { sessionId: "s", extensions: 1, requireForAllRunners: 1 }, /requireForAllRunners/],
    ["no list", { sessionId: "s" }, /must be an array/],
    ["a long list", { sessionId: "s", extensions: Array(33).fill(one) }, /more than 32/],
    ["an unknown key of an entry", { sessionId: "s", extensions: [{ ...one, x: 1 }] }, /unknown key "x"/],
    ["a bad id", { sessionId: "s", extensions: [{ ...one, id: "-a" }] }, /not valid/],
    ["a long id", { sessionId: "s", extensions: [{ ...one, id: "a".repeat(129) }] }, /not valid/],
    ["an id twice", { sessionId: "s", extensions: [one, one] }, /"a" is there twice/],
    ["a blank path", { sessionId: "s", extensions: [{ id: "a", path: " " }] }, /blank/],
    ["a path with NUL", { sessionId: "s", extensions: [{ id: "a", path: "/\0" }] }, /NUL/],
    ["a long path", { sessionId: "s", extensions: [{ id: "a", path: `/${"ü".repeat(2_048)}` }] }, /too long/],
    ["a path to nothing", { sessionId: "s", extensions: [{ id: "a", path: `${path}.not` }] }, /does not exist/],
    ["a folder", { sessionId: "s", extensions: [{ id: "a", path: folder }] }, /not a file/],
    ["a path twice", { sessionId: "s", extensions: [one, { id: "b", path }] }, /path of "b" is there twice/],
  ];
  it.each(refused)("refuses %s", (_name, input, message) => {
    expect(() => register(input)).toThrow(message);
    expect(Reflect.get(globalThis, REGISTRY)).toBeUndefined();
  });

  it("refuses a registry of another shape", () => {
    Reflect.set(globalThis, REGISTRY, { version: 2 });
    expect(() => register({ sessionId: "s", extensions: [] })).toThrow(/another shape/);
  });

  it("keeps real paths, frozen, and answers them by session id", () => {
    const link = join(scratchFolder(), "link.ts");
    symlinkSync(path, link);
    register({ sessionId: "s", extensions: [{ id: "a", path: link }], requireForAllRunners: true });
    const { bySession } = Reflect.get(globalThis, REGISTRY) as { bySession: Map<string, readonly unknown[]> };
    const snapshot = bySession.get("s");
    expect(snapshot).toEqual([{ id: "a", path: realpathSync(path) }]);
    expect(Object.isFrozen(snapshot) && Object.isFrozen(snapshot?.[0])).toBe(true);
    expect(required("s")).toEqual(["a"]);
    expect(required("another")).toEqual([]);
  });

  it("takes one registration per session, an empty one too, until it is disposed", () => {
    const first = register({ sessionId: "s", extensions: [] });
    expect(() => register({ sessionId: "s", extensions: [one] })).toThrow(/already registered for session "s"/);
    first.dispose();
    const second = register({ sessionId: "s", extensions: [one] });
    first.dispose();
    expect(required("s")).toEqual(["a"]);
    second.dispose();
    expect(required("s")).toEqual([]);
  });
});
