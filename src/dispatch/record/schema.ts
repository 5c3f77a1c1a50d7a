// The file format of a task record: one JSON file per task, checked whole on every read. Pure but for the files given.
import { type Static, Type } from "@sinclair/typebox";
import { TokenBudgetError } from "../../errors.ts";
import {
  ERROR_MAX_CHARS,
  GOAL_MAX_CHARS,
  RESULT_MAX_CHARS,
  type Refusal,
  STEP_MAX_CHARS,
  STEPS_MAX_ROWS,
  type TaskRecord,
  TITLE_MAX_CHARS,
} from "./rules.ts";
import { schemaProblem } from "./schema-check.ts";

export const RECORD_FORMAT_VERSION = 1;

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([Type.Null(), schema]);
const text = (maxLength: number) => Type.String({ maxLength });
const literals = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.Union(values.map((value) => Type.Literal(value))));
const time = () => Type.String({ minLength: 20, maxLength: 40 });
const id = () => Type.String({ pattern: "^[a-z0-9]{8,64}$" });

const StatusSchema = literals(["processing", "completed", "failed", "cancelled"]);

const RoleSchema = literals(["input", "output", "intermediate"]);

const closed = { additionalProperties: false } as const;

/** Code units, twice the characters: a character may take two. */
const units = (characters: number) => characters * 2;

const TaskSchema = Type.Object(
  {
    id: id(),
    rootSession: text(256),
    agent: text(512),
    parent: text(512),
    category: nullable(text(64)),
    categoryOwn: Type.Boolean(),
    title: text(units(TITLE_MAX_CHARS)),
    requirement: text(units(GOAL_MAX_CHARS)),
    context: nullable(text(units(GOAL_MAX_CHARS))),
    runner: text(64),
    status: StatusSchema,
    progress: text(units(STEP_MAX_CHARS)),
    steps: Type.Array(text(units(STEP_MAX_CHARS)), { maxItems: STEPS_MAX_ROWS }),
    result: nullable(text(units(RESULT_MAX_CHARS))),
    error: nullable(text(units(ERROR_MAX_CHARS))),
    model: nullable(text(512)),
    modelPinned: Type.Boolean(),
    cwd: nullable(text(4_096)),
    references: Type.Object(
      {
        agent: text(512),
        items: Type.Array(Type.Object({ item: text(256), window: text(16) }, closed), { maxItems: 12 }),
      },
      closed,
    ),
    runs: Type.Integer({ minimum: 1 }),
    process: nullable(Type.Object({ pid: Type.Integer({ minimum: 1 }), start: nullable(text(256)) }, closed)),
    created: time(),
    updated: time(),
  },
  closed,
);

const FileSchema = Type.Object(
  {
    id: id(),
    task: id(),
    filename: text(512),
    storedName: Type.String({ pattern: "^[a-z0-9]{8,64}(\\.[a-z0-9]{1,16})?$" }),
    contentType: text(128),
    kind: literals(["word", "pdf", "other"]),
    size: Type.Integer({ minimum: 0 }),
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    role: RoleSchema,
    created: time(),
  },
  closed,
);

const UsageSchema = Type.Object(
  {
    id: id(),
    kind: literals(["chat", "image", "internal"]),
    model: text(512),
    input: Type.Integer({ minimum: 0 }),
    output: Type.Integer({ minimum: 0 }),
    cached: Type.Integer({ minimum: 0 }),
    quantity: Type.Integer({ minimum: 1 }),
    amount: nullable(Type.Number({ minimum: 0 })),
    task: id(),
    created: time(),
  },
  closed,
);

const TaskRecordSchema = Type.Object(
  { task: TaskSchema, files: Type.Array(FileSchema), usage: Type.Array(UsageSchema) },
  closed,
);

const RefusalSchema = Type.Object({ id: id(), surface: literals(["task", "chat", "image"]), created: time() }, closed);

/** What is wrong with a record; undefined when it is one of this task. */
function problemOf(fields: Readonly<Record<string, unknown>>, id: string): string | undefined {
  const { version: _, ...record } = fields;
  const problem = schemaProblem(TaskRecordSchema, record);
  if (problem !== undefined) return problem;
  const { task, files, usage }: TaskRecord = record as unknown as Static<typeof TaskRecordSchema>;
  if (task.id !== id) return `it is the record of another task (${task.id})`;
  const names = new Set(files.map((file) => file.storedName));
  if (names.size !== files.length) return "two files have one stored name";
  const rows = [...files, ...usage];
  return rows.every((row) => row.task === id) ? undefined : "a row belongs to another task";
}

export function parseRecord(fields: Readonly<Record<string, unknown>>, id: string, file: string): TaskRecord {
  const problem = problemOf(fields, id);
  if (problem === undefined) {
    const { task, files, usage } = fields as unknown as TaskRecord;
    return { task, files, usage };
  }
  throw new TokenBudgetError(
    "storage_failed",
    `The record of task ${id} is damaged: in ${file}, ${problem}. It is left as it is: repair or remove it.`,
  );
}

/** Refusals that are well formed; they only count, so a damaged row is left out. */
export function parseRefusals(fields: Readonly<Record<string, unknown>> | undefined): readonly Refusal[] {
  const rows = fields?.refusals;
  return Array.isArray(rows)
    ? rows.filter((row): row is Refusal => schemaProblem(RefusalSchema, row) === undefined)
    : [];
}
