// The package's one error type. Messages are for the reader who can act on them: the model or the person.

/** Stable codes; the text of a message may change, its code does not. */
export type ErrorCode =
  /** A value is of the wrong type, or breaks a rule that the message names. */
  | "invalid_argument"
  /** An unknown field; the message names the known ones. */
  | "unknown_field"
  /** A required field is missing. */
  | "missing_field"
  /** Not a path of a note. */
  | "invalid_path"
  /** Not an address of an agent, or not one below its parent. */
  | "invalid_address"
  /** No agent has this address in the root task. */
  | "unknown_agent"
  /** The history has no item with this id. */
  | "unknown_item"
  /** The item is in another window. */
  | "wrong_window"
  /** No such root task, note, task, file or model. */
  | "not_found"
  /** Another session has the name, or this session has another one. */
  | "name_collision"
  /** Over a limit that the message names; nothing was stored. */
  | "too_large"
  /** Another process held a file for 20 seconds. */
  | "lock_unavailable"
  /** Another process took a file over before it was written; nothing was written. */
  | "lock_lost"
  /** The disk refused, or a file is damaged; it is left as it is. */
  | "storage_failed"
  /** Written by a newer version of this package; nothing is rewritten. */
  | "newer_format"
  /** A rule does not allow it: a category, a quota, a session that has ended. */
  | "refused"
  /** The package was updated or removed while this process runs; restart the process. */
  | "package_changed"
  /** No model may be sent this content: a `CategoryModelError`. */
  | "category_model";

/** A failure that says what was wrong, with which value, by which rule, and what to do. */
export class TokenBudgetError extends Error {
  /** What went wrong, for programs; the message is for people and models. */
  readonly code: ErrorCode;

  /** `message` says what was wrong and what to do; `options.cause` is what was caught. */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TokenBudgetError";
    this.code = code;
  }
}

/** One field of a request is wrong. A caller whose user typed words instead of fields reports it in those words. */
export class FieldError extends TokenBudgetError {
  /** Such as `category`, `attachments[0]`. */
  readonly field: string;
  readonly value: unknown;
  /** What is wrong with it and what to do. */
  readonly problem: string;

  constructor(code: ErrorCode, field: string, value: unknown, problem: string) {
    super(code, `${field} is ${shownValue(value)}: ${problem}`);
    this.field = field;
    this.value = value;
    this.problem = problem;
  }
}

const SHOWN_MODELS_MAX = 10;

/** No model may be sent content of a category. */
export class CategoryModelError extends TokenBudgetError {
  /** The label that no usable model has. */
  readonly category: string;

  /** `models` have the label, and none of them can be used; `unlabelled` is what would have got the content. */
  constructor(category: string, models: readonly string[], unlabelled?: string) {
    const more = models.length > SHOWN_MODELS_MAX ? `, and ${models.length - SHOWN_MODELS_MAX} more` : "";
    const labelled =
      models.length === 0
        ? `no model is labelled so. Name one in tokenBudget.categories.${category}.models of the agent directory's settings.json`
        : `only ${models.slice(0, SHOWN_MODELS_MAX).join(", ")}${more} may receive it. Choose one of these, and see that its provider has credentials`;
    const stopped = unlabelled === undefined ? "No model was chosen" : `Nothing was sent to ${unlabelled}`;
    super("category_model", `${stopped}: this content is of category ${category}, and ${labelled}.`);
    this.name = "CategoryModelError";
    this.category = category;
  }
}

const SHOWN_VALUE_MAX_CODE_POINTS = 80;

/** Characters that a terminal obeys or that are not seen, and that JSON does not escape. */
const UNSEEN = /[\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

function escaped(char: string): string {
  return `\\u${(char.codePointAt(0) as number).toString(16).padStart(4, "0")}`;
}

/** A value as an error message shows it: JSON with every character seen, shortened. */
export function shownValue(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = String(value);
  }
  const head = text.slice(0, SHOWN_VALUE_MAX_CODE_POINTS * 2 + 2).replace(UNSEEN, escaped);
  const points = Array.from(head);
  const cut = points.length > SHOWN_VALUE_MAX_CODE_POINTS;
  return (cut ? `${points.slice(0, SHOWN_VALUE_MAX_CODE_POINTS).join("")}…` : head).toWellFormed();
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
