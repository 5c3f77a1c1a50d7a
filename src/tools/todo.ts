// todo_write: checks the list, hands it to the session's log, says what came of it. Holds no list itself.
import { checkedTodos, copyOf, droppedItems, type TodoItem } from "../todo/list.ts";
import type { TodoState } from "../todo/replay.ts";
import { todoAnswerText } from "../todo/text.ts";
import type { Execute } from "./define.ts";

export interface TodoToolDeps {
  /** The list as the branch says it now. */
  readonly state: () => TodoState;
  /** Puts the whole list on the log. */
  readonly write: (todos: readonly TodoItem[]) => void;
  readonly limits: () => { readonly maxToolOutputChars: number };
}

export interface TodoTools {
  readonly todo_write: Execute<"todo_write">;
}

export function todoTools(deps: TodoToolDeps): TodoTools {
  return {
    todo_write: (params) => {
      const todos = checkedTodos(params.todos);
      const { todos: before, clearedByUser } = deps.state();
      const dropped = droppedItems(before, todos);
      deps.write(todos);
      const text = todoAnswerText({ todos, dropped, clearedByUser, bound: deps.limits().maxToolOutputChars });
      return { text, details: { todos: copyOf(todos), dropped, ...(clearedByUser ? { clearedByUser } : {}) } };
    },
  };
}
