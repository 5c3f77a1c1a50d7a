// Which entries are labelled after windows: each start once, as far as the host's tree shows it.
import { expect, it } from "vitest";
import { WindowLabels } from "../../src/window/labels.ts";
import { indexOf, TestLog } from "../log/branches.ts";

it("names each start once, the oldest first, and asks for nothing again", () => {
  const log = new TestLog();
  log.user("one");
  const second = log.newContext(2);
  log.user("two");
  const third = log.openingMessage(3);
  const index = indexOf(log);
  const labels = new WindowLabels();
  expect(labels.due(index)).toEqual([
    { entryId: second, label: "w2" },
    { entryId: third, label: "w3" },
  ]);
  expect(labels.due(index)).toEqual([]);
  const fourth = log.newContext(4);
  index.catchUp(log);
  expect(labels.due(index)).toEqual([{ entryId: fourth, label: "w4" }]);
});

it("names the first message where a data entry opens the window, as soon as there is one", () => {
  const log = new TestLog();
  log.user("one");
  log.openingEntry(2);
  const index = indexOf(log);
  const labels = new WindowLabels();
  expect(labels.due(index)).toEqual([]);
  const said = log.user("two");
  index.catchUp(log);
  expect(labels.due(index)).toEqual([{ entryId: said, label: "w2" }]);
});

it("leaves a start alone that has a label on the log, or lost one", () => {
  const log = new TestLog();
  const second = log.newContext(2);
  const third = log.newContext(3);
  log.add({ type: "label", targetId: second, label: "here it broke" });
  log.add({ type: "label", targetId: third });
  expect(new WindowLabels().due(indexOf(log))).toEqual([]);
});
