// The journals of other agents that are kept open: each holds its index in memory, so they are few.

import type { ItemSource } from "../history/source.ts";
import { JournalReader } from "./reader.ts";

const OPEN_MAX = 4;

export class OpenJournals {
  /** Most recently used last. */
  readonly #readers = new Map<string, JournalReader>();

  /** What an agent's journal has committed by now. */
  read(agent: { readonly address: string; readonly historyDir: string }): Promise<ItemSource> {
    const { address, historyDir: directory } = agent;
    const reader = this.#readers.get(address) ?? new JournalReader({ directory, agent: address });
    this.#readers.delete(address);
    this.#readers.set(address, reader);
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size <= OPEN_MAX) break;
      this.#readers.delete(oldest);
    }
    return reader.refresh();
  }
}
