// What the host's fork does to labels. 0.73.1 leaves labels out of the copy without giving their children a new parent, so
// the fork begins after the last label; later hosts chain the rest again. Found out by forking three entries in memory: no
// version and no flag says it.
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

const message = () => ({ role: "user", content: [{ type: "text", text: "a" }], timestamp: 1 });

/** Whether a fork on this host keeps what precedes a label; a host that cannot be asked may not. */
export function forksKeepLabelled(sessionManager: object): boolean {
  try {
    const scratch = (sessionManager.constructor as unknown as ScratchClass).inMemory(".");
    scratch.appendLabelChange(scratch.appendMessage(message()), "a");
    const leaf = scratch.appendMessage(message());
    scratch.createBranchedSession(leaf);
    // The two messages and the label again.
    return scratch.getBranch().length === 3;
  } catch {
    return false;
  }
}

/** Whether a label precedes another entry on the path to this one. */
export function hasLabelBehind(entry: (id: string) => LogEntry | undefined, leafId: string | null): boolean {
  let isKept = false;
  for (let at = leafId === null ? undefined : entry(leafId); at; at = at.parentId ? entry(at.parentId) : undefined) {
    if (at.type !== "label") isKept = true;
    else if (isKept) return true;
  }
  return false;
}
