// What the host's fork does to labels. 0.73.1 leaves labels out of the copy without giving what stood behind them a new
// parent, so the fork begins behind the last label; later hosts chain the rest again. Asked of the host itself, by a fork
// of three entries in memory: neither a version nor a mark says it.
import type { LogEntry } from "./entries.ts";

/** The parts of the host's SessionManager that such a fork takes. */
interface ScratchManager {
  appendMessage(message: object): string;
  appendLabelChange(targetId: string, label: string): string;
  createBranchedSession(leafId: string): unknown;
  getBranch(): readonly unknown[];
  getLeafId(): string | null;
}

interface ScratchClass {
  inMemory(cwd: string): ScratchManager;
}

const words = () => ({ role: "user", content: [{ type: "text", text: "a" }], timestamp: 1 });

/** Whether a fork on this host keeps what stands before a label; a host that cannot be asked may not. */
export function forksKeepLabelled(sessionManager: object): boolean {
  try {
    const scratch = (sessionManager.constructor as unknown as ScratchClass).inMemory(".");
    scratch.appendLabelChange(scratch.appendMessage(words()), "a");
    const leaf = scratch.appendMessage(words());
    scratch.createBranchedSession(leaf);
    // The two messages and the label again.
    return scratch.getBranch().length === 3;
  } catch {
    return false;
  }
}

/** Whether a label stands before something else on the way to this entry. */
export function hasLabelBehind(entry: (id: string) => LogEntry | undefined, leafId: string | null): boolean {
  let isKept = false;
  for (let at = leafId === null ? undefined : entry(leafId); at; at = at.parentId ? entry(at.parentId) : undefined) {
    if (at.type !== "label") isKept = true;
    else if (isKept) return true;
  }
  return false;
}
