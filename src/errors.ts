// The package's one error type. Messages are written for whoever can act on them: the model or the person.

/** Stable codes; the text of a message may change, its code does not. */
export type ErrorCode =
  | "invalid_argument"
  | "unknown_field"
  | "missing_field"
  | "invalid_path"
  | "invalid_address"
  | "unknown_agent"
  | "unknown_item"
  | "wrong_window"
  | "not_found"
  | "name_collision"
  | "too_large"
  | "lock_unavailable"
  | "lock_lost"
  | "storage_failed"
  | "newer_format"
  | "refused"
  | "category_model";

/** A failure that says what was wrong, with which value, by which rule, and how to go on. */
export class TokenBudgetError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TokenBudgetError";
    this.code = code;
  }
}

const SHOWN_MODELS_MAX = 10;

/** No model may be sent content of a category. */
export class CategoryModelError extends TokenBudgetError {
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

/** A value as an error message shows it: JSON, shortened. */
export function shownValue(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = String(value);
  }
  const points = Array.from(text.slice(0, SHOWN_VALUE_MAX_CODE_POINTS * 2 + 2));
  const cut = points.length > SHOWN_VALUE_MAX_CODE_POINTS;
  return (cut ? `${points.slice(0, SHOWN_VALUE_MAX_CODE_POINTS).join("")}…` : text).toWellFormed();
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
