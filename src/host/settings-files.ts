// Reads Pi's own settings files. Never writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One place that settings come from. */
export interface SettingsFile {
  readonly source: "agent" | "project";
  /** As a message shows it. */
  readonly name: string;
  /** The file's text; undefined when there is no file. */
  readonly text: string | undefined;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // No file, or one that cannot be read: Pi says so itself.
    return undefined;
  }
}

/** The files that count, the stronger last. */
export function settingsFiles(agentDir: string, cwd: string, projectCounts: boolean): readonly SettingsFile[] {
  const agent = join(agentDir, "settings.json");
  const project = join(cwd, ".pi", "settings.json");
  return [
    { source: "agent", name: agent, text: textOf(agent) },
    ...(projectCounts ? [{ source: "project", name: ".pi/settings.json", text: textOf(project) } as const] : []),
  ];
}
