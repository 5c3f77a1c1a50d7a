// The one door to models: labelled ones only, in their order, and never out of the group to get an answer.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ModelName, modelName } from "../../src/category/labels.ts";
import { createRouter, type RouteRequest } from "../../src/category/router.ts";
import { CategoryModelError, TokenBudgetError } from "../../src/errors.ts";

const model = (name: string): ModelName => {
  const [provider = "", id = ""] = name.split("/");
  return { provider, id };
};
const categories = new Map<string, readonly string[]>([
  ["s", ["p/s1", "p/s2"]],
  ["t", ["p/t1"]],
  ["empty", []],
]);

function router(
  palette: readonly string[] = ["p/free", "p/t1", "p/s2", "p/s1"],
  lastResort: string | undefined = "p/free",
) {
  return createRouter({
    categories,
    palette: () => palette.map(model),
    lastResort: () => (lastResort === undefined ? undefined : model(lastResort)),
  });
}

function routed(request: RouteRequest<ModelName>, route = router()): string {
  return modelName(route(request));
}

describe("content of a category", () => {
  test.each<[string, Partial<RouteRequest<ModelName>>, string]>([
    ["the pinned model", { pinned: model("p/s2") }, "p/s2"],
    ["a labelled candidate after an unlabelled pin", { pinned: model("p/free"), candidates: [model("p/s2")] }, "p/s2"],
    ["the default after unlabelled ones", { pinned: model("p/free"), candidates: [model("p/t1")] }, "p/s1"],
    ["the default", {}, "p/s1"],
  ])("gets %s", (_name, request, expected) => {
    expect(routed({ contentCategory: "s", ...request })).toBe(expected);
  });

  test("gets the next labelled one, or the last resort, when the default is not there", () => {
    expect(routed({ contentCategory: "s" }, router(["p/free", "p/s2"]))).toBe("p/s2");
    expect(routed({ contentCategory: "s" }, router(["p/free"], "p/s1"))).toBe("p/s1");
  });

  test.each(["s", "empty", "unknown"])("of %s gets none when none is left", (contentCategory) => {
    const route = router(["p/free", "p/t1"]);
    const ask = () => route({ contentCategory, pinned: model("p/free"), candidates: [model("p/t1")] });
    expect(ask).toThrow(CategoryModelError);
    expect(ask).toThrow(expect.objectContaining({ code: "category_model", category: contentCategory }));
  });

  test("never gets an unlabelled model, whatever is there", () => {
    const names = fc.constantFrom("p/free", "p/s1", "p/s2", "p/t1", "p/S1", "q/s1");
    const requests = fc.record({
      contentCategory: fc.constantFrom("s", "t", "empty"),
      pinned: fc.option(names, { nil: undefined }),
      candidates: fc.array(names, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(requests, fc.array(names), fc.option(names, { nil: undefined }), (request, palette, lastResort) => {
        const { contentCategory, pinned, candidates } = request;
        const labelled = categories.get(contentCategory) ?? [];
        const offered = [pinned, ...candidates, ...palette, lastResort];
        const ask = () =>
          routed(
            { contentCategory, pinned: pinned && model(pinned), candidates: candidates.map(model) },
            router(palette, lastResort),
          );
        if (offered.some((name) => name !== undefined && labelled.includes(name))) expect(labelled).toContain(ask());
        else if (lastResort !== undefined || !labelled.includes("p/free")) expect(ask).toThrow(CategoryModelError);
      }),
    );
  });
});

describe("ordinary content", () => {
  test("is free in its model", () => {
    expect(routed({ contentCategory: null, pinned: model("p/s1") })).toBe("p/s1");
    expect(routed({ contentCategory: null, candidates: [model("q/x")] })).toBe("q/x");
    expect(routed({ contentCategory: null })).toBe("p/free");
  });

  test("without any model is an error that says what to do", () => {
    const route = createRouter({ categories, palette: () => [], lastResort: () => undefined });
    expect(() => route({ contentCategory: null })).toThrow(/log in/);
  });
});

test("a call that does not say what the content is throws before a model is looked for", () => {
  let looked = false;
  const route = createRouter({
    categories,
    palette: () => {
      looked = true;
      return [];
    },
    lastResort: () => undefined,
  });
  // @ts-expect-error contentCategory is missing
  expect(() => route({ pinned: model("p/free") })).toThrow(expect.objectContaining({ code: "missing_field" }));
  // @ts-expect-error undefined is no category
  expect(() => route({ contentCategory: undefined })).toThrow(TokenBudgetError);
  expect(() => route({ contentCategory: "" })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  expect(looked).toBe(false);
});

test("an error is bounded however many models have the label", () => {
  const many = Array.from({ length: 1_000 }, (_, at) => `p/${at}`);
  const { message } = new CategoryModelError("s", many);
  expect(message.length).toBeLessThan(400);
  expect(message).toContain("and 990 more");
});
