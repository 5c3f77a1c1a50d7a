// The JSON files of the task records: where each lies, and what it holds.
import { join } from "node:path";
import { shownValue, TokenBudgetError } from "../../errors.ts";
import { namesAt } from "../../storage/blobs.ts";
import { storageFailure } from "../../storage/disk.ts";
import type { JsonFile } from "../../storage/json-store.ts";
import { parseRecord, parseRefusals, RECORD_FORMAT_VERSION, type Refusal, type TaskRecord } from "./schema.ts";

const RECORD_FILE = /^([a-z0-9]{8,64})\.json$/;
/** Lies among the records, and has the name of one. */
const REFUSALS = "refusals";

export function isRecordId(id: string): boolean {
  return id !== REFUSALS && RECORD_FILE.test(`${id}.json`);
}

/** The ids of the records in a directory. */
export function recordIds(directory: string): readonly string[] {
  try {
    const ids = namesAt(directory).map((name) => RECORD_FILE.exec(name)?.[1] ?? REFUSALS);
    return ids.filter((id) => id !== REFUSALS);
  } catch (error) {
    throw storageFailure(error, { shown: "The task records", doing: "listed" });
  }
}

export function recordFile(directory: string, id: string): JsonFile<TaskRecord> {
  const name = `${id}.json`;
  if (!RECORD_FILE.test(name)) {
    throw new TokenBudgetError(
      "invalid_argument",
      `The task id is ${shownValue(id)}; ids are of a-z and 0-9. List the tasks to see them.`,
    );
  }
  return {
    file: join(directory, name),
    version: RECORD_FORMAT_VERSION,
    shown: `The record of task ${id}`,
    parse: (fields) => parseRecord(fields, id),
    fields: (record) => ({ ...record }),
  };
}

export function refusalsFile(directory: string): JsonFile<readonly Refusal[]> {
  return {
    file: join(directory, `${REFUSALS}.json`),
    version: RECORD_FORMAT_VERSION,
    shown: "The list of quota refusals",
    parse: (fields) => ({ type: "value", value: parseRefusals(fields) }),
    fields: (refusals) => ({ refusals }),
  };
}

export function thereIs(record: TaskRecord | undefined, id: string): TaskRecord {
  if (record !== undefined) return record;
  throw new TokenBudgetError(
    "not_found",
    `There is no task ${shownValue(id)} in this root task; list the tasks to see which there are.`,
  );
}
