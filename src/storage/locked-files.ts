// Files that are changed under locks. Locks and temporaries lie in one folder beside them, `<name>.meta`, so that nothing but
// the files is where the files are; what killed processes leave in it is swept.
import { join } from "node:path";
import { type Replacement, replaceFile } from "./atomic-file.ts";
import { type DiskCalls, NODE_DISK } from "./disk.ts";
import { type Sweep, sweepLeftOvers } from "./left-overs.ts";
import { LockDirectory, type LockOptions, type LockRequest } from "./lock.ts";

/** A lock while it is held. */
export interface Held {
  /** Throws `lock_lost` when another process has taken it over: call it right before a removal. */
  assertOwned(): void;
  /** Replaces a file whole; throws `lock_lost` as above, right before the rename. */
  replace(replacement: Replacement): void;
}

export class LockedFiles {
  protected readonly disk: DiskCalls;
  readonly #locks: LockDirectory;
  readonly #temporaries: string;

  /** `meta` is an absolute path, on the disk of the files. */
  constructor(meta: string, options: LockOptions = {}) {
    this.disk = options.disk ?? NODE_DISK;
    this.#locks = new LockDirectory(join(meta, "locks"), options);
    this.#temporaries = join(meta, "tmp");
  }

  /** Runs `work` while holding the lock. */
  hold<T>(request: LockRequest, work: (held: Held) => T | Promise<T>): Promise<T> {
    const temporaries = { directory: this.#temporaries, prefix: request.name };
    return this.#locks.withLock(request, (lock) => {
      const beforeRename = () => lock.assertOwned();
      return work({
        assertOwned: beforeRename,
        replace: (replacement) => replaceFile(replacement, temporaries, { disk: this.disk, beforeRename }),
      });
    });
  }

  /** Removes what killed processes left beside the files. Call it at start. */
  sweep(): Sweep {
    const { directory: lockDirectory, staleMs } = this.#locks;
    return sweepLeftOvers({ temporaryDirectory: this.#temporaries, lockDirectory, staleMs }, this.disk);
  }
}
