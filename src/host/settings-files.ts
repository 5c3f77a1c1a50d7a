// Reads Pi's own settings files. Never writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostContext } from "./api.ts";
import { projectSettingsCount } from "./context.ts";

/** One place that settings come from. */
export interface SettingsFile {
  readonly source: "agent" | "project";
  /** As a message shows it. */
  readonly name: string;
  /** The file's text; undefined when there is no file. */
  readonly text: string | undefined;
}

const BYTE_ORDER_MARK = "\uFEFF";

/** 0.84 and later skip a byte order mark; 0.73.1 does not, and takes such a file for broken. */
function textOf(path: string, { mode }: Pick<HostContext, "mode">): string | undefined {
  try {
    const text = readFileSync(path, "utf8");
    return mode !== undefined && text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  } catch {
    // No file, or an unreadable one, which Pi reports itself.
    return undefined;
  }
}

/** The files that count, later ones overriding earlier ones, each as the host reads it. */
export function settingsFiles(agentDir: string, ctx: HostContext): readonly SettingsFile[] {
  const { cwd } = ctx;
  const agent = join(agentDir, "settings.json");
  const project = join(cwd, ".pi", "settings.json");
  return [
    { source: "agent", name: agent, text: textOf(agent, ctx) },
    ...(projectSettingsCount(ctx)
      ? [{ source: "project", name: ".pi/settings.json", text: textOf(project, ctx) } as const]
      : []),
  ];
}

/** The same while the package is loaded and there is no session yet: those of the folder in which Pi was started. */
export function settingsFilesAtLoad(agentDir: string, cwd = process.cwd()): readonly SettingsFile[] {
  // It is not known yet which host it is, nor whether the project is trusted.
  const anyHost = { mode: "tui" } as const;
  return [
    { source: "agent", name: "settings.json", text: textOf(join(agentDir, "settings.json"), anyHost) },
    { source: "project", name: ".pi/settings.json", text: textOf(join(cwd, ".pi", "settings.json"), anyHost) },
  ];
}
