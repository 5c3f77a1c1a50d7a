// What docstrings.test.ts finds fault with.

/** Has members of which little is said. */
export interface Bare {
  readonly silent?: string;
  /** How long. */
  readonly limitMs: number;
  /** Holds another. */
  readonly nested: {
    readonly inner: string;
  };
}

export function act(bare: Bare): Bare {
  return bare;
}

/**
 * Says an error that there is not.
 *
 * @throws TokenBudgetError `not_a_code`.
 */
export function wrong(): void {}
