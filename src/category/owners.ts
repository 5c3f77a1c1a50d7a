// What other agents' content is: the stricter of the registry and what their own logs said last, as their journals have
// it. So an entry of the registry that became ordinary by mistake opens nothing.

import { journalFile } from "../journal/journal.ts";
import { parsedLine } from "../journal/line.ts";
import type { DiskCalls } from "../storage/disk.ts";
import { LineScan } from "../storage/line-scan.ts";
import type { Category } from "../task/category.ts";
import { ownerCategory, type Registered } from "./classification.ts";
import { CATEGORY_ENTRY, categoryIn, type LogCategory } from "./log.ts";

/** Journals that are remembered; each takes a few numbers. */
const REMEMBERED_MAX = 1_024;
/** As JSON spells it in an entry; within a text the quotes would be escaped. */
const SPELLED = `"customType":${JSON.stringify(CATEGORY_ENTRY)}`;

export interface Owner extends Registered {
  readonly address: string;
  readonly historyDir: string;
}

interface Known {
  readonly scan: LineScan;
  said: LogCategory;
}

export class OwnerCategories {
  readonly #disk: DiskCalls | undefined;
  readonly #known = new Map<string, Known>();

  constructor(disk?: DiskCalls) {
    this.#disk = disk;
  }

  /** Undefined when it cannot be known, or its two sources name two categories: then no agent may read it. */
  of(owner: Owner): Category | undefined {
    return ownerCategory(owner, this.#journalSays(owner));
  }

  #journalSays({ address, historyDir }: Owner): LogCategory {
    const known = this.#at(historyDir, address);
    try {
      let newest: LogCategory | undefined;
      const read = known.scan.readOn((line) => {
        const entry = parsedLine(line)?.entry;
        newest = (entry && categoryIn(entry)) ?? newest;
      });
      known.said = newest ?? (read === "on" ? known.said : { type: "silent" });
    } catch {
      // Unreadable for now, or damaged, which reading the history itself explains. Read it again next time.
      this.#known.delete(historyDir);
      return { type: "damaged" };
    }
    return known.said;
  }

  #at(historyDir: string, address: string): Known {
    const known = this.#known.get(historyDir);
    if (known) return known;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= REMEMBERED_MAX && oldest !== undefined) this.#known.delete(oldest);
    const shown = `The journal of ${address}`;
    const scan = new LineScan({ file: journalFile(historyDir), text: SPELLED, shown, disk: this.#disk });
    const made: Known = { scan, said: { type: "silent" } };
    this.#known.set(historyDir, made);
    return made;
  }
}
