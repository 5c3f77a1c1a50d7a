// The record of a task: one JSON file per task, checked whole on every read. This schema is its only definition; the types
// are derived from it. Rows hold metadata only: the bytes of files are stored next to the record.
//
// {"task":{"id":"3f…","status":"completed",…},"files":[{"role":"input",…}],"usage":[{"model":"p/m",…}],"version":1}
import { randomBytes } from "node:crypto";
import { type Static, Type } from "../../schema.ts";
import { schemaProblem } from "../../schema-check.ts";
import { isRecord } from "../../shapes.ts";
import type { Parsed, VersionedFields } from "../../storage/json-store.ts";
import type { FileRole } from "../files/roles.ts";
import type { FileView, TaskStatus, UsageRow as UsageView } from "../task-view.ts";

/** 2: files have a path, and say whether they are partial. 3: the sandbox of the run. */
export const RECORD_FORMAT_VERSION = 3;

export const TITLE_MAX_CHARS = 60;
/** Also the bound of the context. */
export const GOAL_MAX_CHARS = 50_000;
export const STEPS_MAX_ROWS = 200;
/** Also the bound of the progress hint. */
export const STEP_MAX_CHARS = 500;
/** A record is read whole, so even the result is bounded. */
export const RESULT_MAX_CHARS = 200_000;
export const ERROR_MAX_CHARS = 2_000;
export const REFERENCES_MAX = 12;
/** As long as file systems take one. */
const PATH_MAX_CHARS = 4_096;

const closed = { additionalProperties: false } as const;
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([Type.Null(), schema]);
const text = (maxLength: number) => Type.String({ maxLength });
/** Lengths are in UTF-16 code units, and a character takes up to two. */
const characters = (max: number) => text(2 * max);
const literals = <T extends string>(...values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))));
/** ISO 8601. */
const time = () => Type.String({ minLength: 20, maxLength: 40 });
const id = () => Type.String({ pattern: "^[a-z0-9]{8,64}$" });
const count = (minimum = 0) => Type.Integer({ minimum });

/** Fields without a comment are those of `TaskView`. */
const TaskSchema = Type.Object(
  {
    id: id(),
    rootSession: text(256),
    agent: text(512),
    /** Address of the agent that dispatched it. */
    parent: text(512),
    category: nullable(text(64)),
    /** Whether the category was declared; if not, the task has its parent's. */
    categoryOwn: Type.Boolean(),
    title: characters(TITLE_MAX_CHARS),
    requirement: characters(GOAL_MAX_CHARS),
    context: nullable(characters(GOAL_MAX_CHARS)),
    runner: text(64),
    sandbox: nullable(text(512)),
    status: literals<TaskStatus>("processing", "completed", "failed", "cancelled"),
    progress: characters(STEP_MAX_CHARS),
    steps: Type.Array(characters(STEP_MAX_CHARS), { maxItems: STEPS_MAX_ROWS }),
    result: nullable(characters(RESULT_MAX_CHARS)),
    error: nullable(characters(ERROR_MAX_CHARS)),
    model: nullable(text(512)),
    /** Whether the request named the model. */
    modelPinned: Type.Boolean(),
    /** The working directory that the request named; null for a fresh one. */
    cwd: nullable(text(4_096)),
    /** The dispatching agent's latest human messages, by id: the child reads them under its own category. */
    references: Type.Object(
      {
        agent: text(512),
        items: Type.Array(Type.Object({ item: text(256), window: text(16) }, closed), { maxItems: REFERENCES_MAX }),
      },
      closed,
    ),
    /** Number of runs, this one included. */
    runs: count(1),
    /** The process that runs it; null when none does. */
    process: nullable(Type.Object({ pid: count(1), start: nullable(text(256)) }, closed)),
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
    path: text(PATH_MAX_CHARS),
    partial: Type.Boolean(),
    /** Random, so that it reveals nothing. */
    storedName: Type.String({ pattern: "^[a-z0-9]{8,64}(\\.[a-z0-9]{1,16})?$" }),
    contentType: text(128),
    kind: literals<FileView["kind"]>("word", "pdf", "other"),
    size: count(),
    /** Of the stored bytes, hex. */
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    role: literals<FileRole>("input", "output", "intermediate"),
    created: time(),
  },
  closed,
);

const UsageSchema = Type.Object(
  {
    id: id(),
    kind: literals<UsageView["kind"]>("chat", "image", "internal"),
    model: text(512),
    input: count(),
    output: count(),
    cached: count(),
    quantity: count(1),
    amount: nullable(Type.Number({ minimum: 0 })),
    task: id(),
    created: time(),
  },
  closed,
);

const RecordSchema = Type.Object(
  { task: TaskSchema, files: Type.Array(FileSchema), usage: Type.Array(UsageSchema) },
  closed,
);

/** A dispatch that a quota refused. */
const RefusalSchema = Type.Object({ id: id(), surface: literals("task", "chat", "image"), created: time() }, closed);

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : { readonly [Field in keyof T]: Frozen<T[Field]> };

export type TaskRecord = Frozen<Static<typeof RecordSchema>>;
export type TaskRow = TaskRecord["task"];
export type FileRow = TaskRecord["files"][number];
export type UsageRow = TaskRecord["usage"][number];
export type Refusal = Frozen<Static<typeof RefusalSchema>>;

/** An id for a row: random, so that it reveals nothing and cannot be guessed. */
export function newId(): string {
  return randomBytes(8).toString("hex");
}

/** The time of a row. */
export function nowText(): string {
  return new Date().toISOString();
}

function problemOf(record: Readonly<Record<string, unknown>>, id: string): string | undefined {
  const problem = schemaProblem(RecordSchema, record);
  if (problem !== undefined) return problem;
  const { task, files, usage } = record as TaskRecord;
  if (task.id !== id) return `it is the record of another task (${task.id})`;
  if (new Set(files.map((file) => file.storedName)).size !== files.length) return "two files have one stored name";
  return [...files, ...usage].every((row) => row.task === id) ? undefined : "a row belongs to another task";
}

/**
 * What an older format lacks, as it was then: a file had a name alone, only completed runs left any, and nothing confined
 * a task.
 */
function withNewFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(fields.files) || !isRecord(fields.task)) return fields;
  const files = fields.files.map((file: unknown) =>
    isRecord(file) ? { path: file.filename, partial: false, ...file } : file,
  );
  return { ...fields, task: { sandbox: null, ...fields.task }, files };
}

/** The record of this task. Fields that an older format lacks are filled in. */
export function parseRecord({ version, ...given }: VersionedFields, id: string): Parsed<TaskRecord> {
  const record = version < RECORD_FORMAT_VERSION ? withNewFields(given) : given;
  const problem = problemOf(record, id);
  return problem === undefined
    ? { type: "value", value: record as unknown as TaskRecord }
    : { type: "damaged", problem };
}

/** They only count, so damaged rows are dropped. */
export function parseRefusals({ refusals }: VersionedFields): readonly Refusal[] {
  return Array.isArray(refusals) ? refusals.filter((row) => schemaProblem(RefusalSchema, row) === undefined) : [];
}
