// Categories as a person at the keyboard meets them: what is refused says what there is, what is blocked says how to get out.
import { expect, it } from "vitest";
import { openPi } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const MODELS = [{ id: "open" }, { id: "vault" }];

async function labelled(labels: readonly string[], models: readonly string[], open = pi) {
  const provider = "kept";
  const named = models.map((id) => `${provider}/${id}`);
  const categories = Object.fromEntries(labels.map((label) => [label, { models: named }]));
  return open({
    ui: true,
    provider,
    models: MODELS,
    settings: { tokenBudget: { categories } },
    next: () => "an answer",
  });
}

it("a label that the settings do not have is refused, and the session goes on", async () => {
  const s = await labelled(["client-x", "client-y"], ["vault"]);
  await s.session.prompt("/category cleint-x");
  expect(s.ui.notices.at(-1)?.message).toBe(
    "There is no category cleint-x, so nothing was changed. There are client-x, client-y, and none for ordinary content.",
  );
  await s.prompt("hello");
  expect(s.requests).toHaveLength(1);
  const none = await labelled([], []);
  await none.session.prompt("/category client-x");
  expect(none.ui.notices.at(-1)?.message).toContain("The settings have none: tokenBudget.categories of the agent");
});

it("a block says how to get out, and both ways lead out", async () => {
  // The host reports the request that was stopped as an error of the extension.
  const s = await labelled(["client-x"], ["elsewhere"], openPi);
  await s.session.prompt("/category client-x");
  const said = s.ui.notices.at(-1)?.message ?? "";
  expect(said).toContain("choose a model with that label by /model, or say /category none");
  await s.prompt("hello");
  expect(s.requests).toHaveLength(0);
  expect(s.ui.notices.at(-1)?.message).toContain("say /category none if this content is ordinary");
  await s.session.prompt("/category none");
  await s.prompt("hello again");
  expect(s.requests).toHaveLength(1);
  await s.dispose();
});

it("another model under a category is taken back, and the person is told behind the host's own word", async () => {
  const s = await labelled(["client-x"], ["vault"]);
  await s.session.prompt("/category client-x");
  const before = s.ui.notices.length;
  await s.selectModel("open");
  expect(s.ui.notices).toHaveLength(before);
  await expect.poll(() => s.ui.notices.length, { timeout: 1_000 }).toBe(before + 1);
  expect(s.ui.notices.at(-1)?.message).toMatch(/uses kept\/vault and not kept\/open.*\/category none/);
  await s.prompt("hello");
  expect(s.requests.map(({ model }) => model)).toEqual(["vault"]);
});
