// Races that share what they need; made when their turn comes, so that one group's memory is free again.
import type { Race } from "./measure.ts";

export interface Made {
  readonly races: readonly Race[];
  readonly close?: () => void;
}

export interface Group {
  /** What `npm run bench -- WORD` runs by. */
  readonly topic: string;
  make(): Made | Promise<Made>;
}
