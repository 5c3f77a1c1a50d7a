// What a session leaves is removed at its end at a person's word: that stands where the person sees it, and can be taken back.
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { STATUS_KEY } from "../../src/wire/footer.ts";
import { closeAfterEach, pi, said } from "./support.ts";

closeAfterEach();

async function opened() {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "a.md", text: "kept" })] : "done"),
  });
  await s.prompt("go");
  const notes = /Notes in (.+)/.exec(await said(s, "/context"))?.[1] ?? "";
  expect(existsSync(notes)).toBe(true);
  const footer = () => s.ui.statuses.get(STATUS_KEY) ?? "";
  return { s, notes, footer };
}

it("a removal that was asked for is shown by footer and /context, and taken back by /token-budget keep", async () => {
  const { s, notes, footer } = await opened();
  expect(await said(s, "/token-budget keep")).toBe("Nothing was to be removed at the end of this session.");
  s.ui.confirms = true;
  expect(await said(s, "/token-budget forget")).toMatch(
    /when you quit, and with \/new, .*\/token-budget keep takes it back/,
  );
  expect(s.ui.questions.at(-1)).toMatch(/when you quit, and with \/new, \/resume or \/fork/);
  expect(footer()).toContain("removed at its end");
  expect(await said(s, "/context")).toContain("are removed when it ends");
  expect(await said(s, "/token-budget keep")).toBe("Nothing is removed: what this session leaves stays.");
  expect(footer()).not.toContain("removed");
  expect(await said(s, "/context")).not.toContain("are removed");
  await s.dispose();
  expect(existsSync(notes)).toBe(true);
});

it("asked for again it can be taken back, with that answer first, or stands", async () => {
  const { s, notes, footer } = await opened();
  s.ui.confirms = true;
  await said(s, "/token-budget forget");
  expect(await said(s, "/token-budget forget")).toMatch(/^It is still removed when the session ends/);
  expect(s.ui.questions.at(-1)?.split("\n").slice(-2)).toEqual(["Keep it all", "Remove it, as asked"]);
  s.ui.confirms = false;
  expect(await said(s, "/token-budget forget")).toBe("Nothing is removed: what this session leaves stays.");
  expect(footer()).not.toContain("removed");
  s.ui.confirms = true;
  await said(s, "/token-budget forget");
  await s.dispose();
  expect(existsSync(notes)).toBe(false);
});
