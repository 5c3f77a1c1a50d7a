// What a program passes to a dispatcher is checked by name and type before anything is stored, and errors say what helps.
import { expect, test } from "vitest";
import type { DispatchRequest, ErrorCode, LookOptions } from "../../api.ts";
import { answering, bench, scriptRunner } from "./dispatchers.ts";

const REQUESTS: readonly [Record<string, unknown> | string, ErrorCode, RegExp][] = [
  ["Count", "invalid_argument", /the request must be an object, not "Count"\. There are goal/],
  [{ goal: 5 }, "invalid_argument", /goal is 5/],
  [{ goal: "g", gaol: "g" }, "unknown_field", /Did you mean goal\?/],
  [{ goal: "g", context: 5 }, "invalid_argument", /context is 5/],
  [{ goal: "g", category: 5 }, "invalid_argument", /category is 5/],
  [{ goal: "g", agentName: 5 }, "invalid_argument", /agentName is 5; it must be a text/],
  [{ goal: "g", agentName: "" }, "invalid_argument", /agentName is ""/],
  [{ goal: "g", model: 5 }, "invalid_argument", /model is 5/],
  [{ goal: "g", runner: 5 }, "invalid_argument", /runner is 5/],
  [{ goal: "g", attachments: "a.txt" }, "invalid_argument", /attachments is "a\.txt"; it must be a list/],
  [{ goal: "g", cwd: 5 }, "invalid_argument", /cwd is 5/],
  [{ goal: "g", signal: 5 }, "invalid_argument", /signal is 5; it must be an AbortSignal/],
];

test.each(REQUESTS)("dispatch(%j) is refused with %s", async (request, code, message) => {
  const { dispatcher } = bench([answering("done")]);
  const asked = dispatcher.dispatch(request as unknown as DispatchRequest);
  await expect(asked).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect(await dispatcher.list()).toEqual([]);
});

test("a viewer that there is not is refused everywhere: it must not pass for another", async () => {
  const { dispatcher } = bench([answering("done")]);
  const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
  const odd = { viewer: "persn" } as unknown as LookOptions;
  const looks = [
    () => dispatcher.list(odd),
    () => dispatcher.get(id, odd),
    () => dispatcher.openFile(id, "x", odd),
    () => dispatcher.rerun(id, odd),
    () => dispatcher.cancel(id, odd),
    () => dispatcher.remove(id, odd),
  ];
  const message = expect.stringMatching(/viewer is "persn"; it must be one of "person", or be left out/);
  for (const look of looks) await expect(look()).rejects.toMatchObject({ code: "invalid_argument", message });
  const misspelt = dispatcher.get(id, { veiwer: "person" } as unknown as LookOptions);
  await expect(misspelt).rejects.toMatchObject({ code: "unknown_field" });
  expect((await dispatcher.get(id, { viewer: "person" })).id).toBe(id);
});

test("a program that is not there is named, with what to set", async () => {
  const { dispatcher } = bench([scriptRunner("", { command: () => ["no-such-pi"] })]);
  const { status, error } = await (await dispatcher.dispatch({ goal: "g" })).result;
  expect(status).toBe("failed");
  expect(error).toMatch(/spawn no-such-pi ENOENT\. There is no program "no-such-pi" on the PATH: .*taskRunnerCommand/);
});
