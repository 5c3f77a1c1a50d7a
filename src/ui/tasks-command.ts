// /tasks: a person looks at the tasks there are, takes their files, and stops, repeats or removes them (task-acts.ts).
import type { HostCommand } from "../host/api.ts";
import { defineCommand } from "./commands.ts";
import { answered, choices, type TasksCommandParts } from "./task-acts.ts";
import { parseTasksLine } from "./tasks-arguments.ts";

export function tasksCommand(parts: TasksCommandParts): HostCommand {
  return defineCommand("tasks", {
    show: parts.show,
    complete: async (prefix) => {
      const opened = await parts.openBoard();
      return opened ? choices(opened, prefix) : [];
    },
    answer: (argument, ctx) => {
      const line = parseTasksLine(argument);
      return line.type === "unknown" ? undefined : answered(line, ctx, parts);
    },
  });
}
