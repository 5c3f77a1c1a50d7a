// Addresses: what is one, how names resolve, and what is refused with which words.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ADDRESS_MAX_CHARS,
  agentName,
  childAddress,
  isAddress,
  isBelow,
  parentAddress,
  ROOT_ADDRESS,
  resolveAddress,
} from "../../src/task/addresses.ts";
import { automaticName } from "../../src/task/layout.ts";

const SEGMENT_CHARS = [..."abcdefghijklmnopqrstuvwxyz0123456789_"];
const segments = fc
  .string({ unit: fc.constantFrom(...SEGMENT_CHARS), minLength: 1, maxLength: 20 })
  .filter((segment) => segment !== "root" && segment !== "notes");
const names = fc.array(segments, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const addresses = fc.oneof(
  fc.constant(ROOT_ADDRESS),
  names.map((name) => `${ROOT_ADDRESS}/${name}`),
);

const HOSTILE = [
  "",
  " ",
  ".",
  "..",
  "a/..",
  "../b",
  "a//b",
  "a/",
  "A",
  "é",
  "a b",
  "a\\b",
  "a\0",
  "a\n",
  "root",
  "notes",
  "a/notes",
  "a/root/b",
  "~",
  "$HOME",
  "\ud800",
  "a-b",
  "a.b",
];

describe("an address", () => {
  test("is the root or names below it", () => {
    fc.assert(fc.property(addresses, (address) => isAddress(address)));
  });

  test.each(HOSTILE)("has no name such as %j", (name) => {
    expect(isAddress(`${ROOT_ADDRESS}/${name}`)).toBe(false);
    expect(() => childAddress(ROOT_ADDRESS, name)).toThrow(expect.objectContaining({ code: "invalid_address" }));
    expect(() => resolveAddress(ROOT_ADDRESS, name)).toThrow(expect.objectContaining({ code: "invalid_address" }));
  });

  test.each(["root", "/", "/roots", "/root/", "//root", "/Root", "/root /a", "/rootless/a", "/root\n"])(
    "does not look like %j",
    (address) => {
      expect(isAddress(address)).toBe(false);
      expect(() => parentAddress(address)).toThrow(/parentAgentName is .*address of an agent.*Leave it out/);
    },
  );

  test("has a longest length", () => {
    const longest = `${ROOT_ADDRESS}/${"a".repeat(ADDRESS_MAX_CHARS - ROOT_ADDRESS.length - 1)}`;
    expect(isAddress(longest)).toBe(true);
    expect(isAddress(`${longest}a`)).toBe(false);
  });

  test("never holds a path that leads elsewhere, whatever is tried", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom(...HOSTILE)), (text) => {
        for (const tried of [text, `/root/${text}`]) {
          if (!isAddress(tried)) continue;
          expect(tried).toMatch(/^\/root(\/[a-z0-9_]+)*$/);
        }
      }),
    );
  });
});

describe("a name", () => {
  test("left out is the agent itself", () => {
    expect(resolveAddress("/root/a", undefined)).toBe("/root/a");
    expect(resolveAddress("/root/a", null)).toBe("/root/a");
  });

  test("is below the agent, and an address is itself", () => {
    fc.assert(
      fc.property(addresses, names, (current, name) => {
        expect(resolveAddress(current, name)).toBe(`${current}/${name}`);
        expect(resolveAddress(current, `${current}/${name}`)).toBe(`${current}/${name}`);
        expect(resolveAddress(current, ROOT_ADDRESS)).toBe(ROOT_ADDRESS);
      }),
    );
  });

  test("of a child gives an address below its parent, relative or not", () => {
    fc.assert(
      fc.property(addresses, names, (parent, name) => {
        const address = childAddress(parent, name);
        expect(address).toBe(childAddress(parent, address));
        expect(isBelow(address, parent)).toBe(true);
        expect(isBelow(parent, address)).toBe(false);
      }),
    );
  });

  test("of a child that leads beside its parent is refused", () => {
    for (const name of ["/root", "/root/a", "/root/ab/c"]) {
      expect(() => childAddress("/root/a", name)).toThrow(/is not below its parent \/root\/a/);
    }
  });

  test("are names to people, who would take /root for a directory", () => {
    const shown = ["/root", "/root (restricted)", "/root/reviewer/checker", "/root/a (restricted)", "(3 older agents)"];
    expect(shown.map(agentName)).toEqual([
      "main agent",
      "main agent (restricted)",
      "reviewer/checker",
      "a (restricted)",
      "(3 older agents)",
    ]);
    expect(agentName("/root/.pi/agent")).toBe("/root/.pi/agent");
  });

  test("that is automatic is a stable, valid segment for any session", () => {
    expect(automaticName("/sessions/a.jsonl")).toBe(automaticName("/sessions/a.jsonl"));
    expect(automaticName("abc")).toBe("agent_ba7816bf8f01");
    fc.assert(fc.property(fc.string(), (key) => isAddress(childAddress(ROOT_ADDRESS, automaticName(key)))));
  });
});
