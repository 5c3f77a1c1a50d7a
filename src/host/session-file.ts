// The file of a session in which no model has answered: hosts write it with the first answer, so a session that only gave
// out tasks would leave none, and nobody would find the tasks again.
import { kindAt, writeNewText } from "../storage/blobs.ts";
import type { HostContext } from "./api.ts";

/** Writes it as the host would; at the end of the session only, since the host takes a file that is there for another's. */
export function keepSessionFile({ sessionManager }: HostContext): void {
  const file = sessionManager.getSessionFile();
  const header = sessionManager.getHeader();
  if (file === undefined || header === null || kindAt(file) !== "missing") return;
  const lines = [header, ...(sessionManager.getEntries?.() ?? [])].map((line) => JSON.stringify(line));
  writeNewText(file, `${lines.join("\n")}\n`);
}
