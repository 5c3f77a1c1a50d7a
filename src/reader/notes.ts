// The notes of a task's agents, in the shapes of a program.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { parseNotePath, parseNotePrefix } from "../notes/paths.ts";
import type { NotesStore } from "../notes/store.ts";
import { assertArgument, assertObject, FILLED_TEXT, optional, POSITIVE_COUNT, TEXT } from "../options.ts";
import type { ReadAccess } from "./access.ts";
import type { NoteQuery, NotesReader } from "./types.ts";

const LIMIT_DEFAULT = 100;

const PREFIX = optional(TEXT);

export function notesOf(access: ReadAccess): NotesReader {
  return {
    list: async (agentName, query = {}) => {
      const of = "notes.list";
      assertArgument(of, "agentName", agentName, FILLED_TEXT);
      assertObject(query, { of, what: "the query", fields: { prefix: PREFIX } });
      return access.notes(agentName, (notes) => notes.list({ prefix: prefixIn(notes, query) }).rows);
    },
    read: async (agentName, path) => {
      assertArgument("notes.read", "agentName", agentName, FILLED_TEXT);
      assertArgument("notes.read", "path", path, FILLED_TEXT);
      return access.notes(agentName, (notes) => notes.read(pathIn(notes, path)));
    },
    search: async (agentName, text, query = {}) => {
      const of = "notes.search";
      assertArgument(of, "agentName", agentName, FILLED_TEXT);
      assertArgument(of, "text", text, FILLED_TEXT);
      assertObject(query, { of, what: "the query", fields: { prefix: PREFIX, limit: optional(POSITIVE_COUNT) } });
      const { limit = LIMIT_DEFAULT } = query;
      return access.notes(agentName, (notes) => {
        const most = { maxFiles: limit, maxMatchesPerFile: limit };
        const found = notes.search({ query: text, prefix: prefixIn(notes, query), ...most });
        const matches = found.files.flatMap(({ path, matches: lines }) =>
          lines.map(({ line, text: shown }) => ({ path, line, text: shown })),
        );
        return { total: found.totalMatches, matches: matches.slice(0, limit) };
      });
    },
  };
}

/** A path may be given as agents write it; the notes stay those that were asked for. */
function pathIn({ agent }: NotesStore, path: string): string {
  const parsed = parseNotePath(path, agent);
  if (parsed.agent === agent) return parsed.path;
  throw otherAgents("path", path, agent);
}

function prefixIn({ agent }: NotesStore, { prefix }: NoteQuery): string {
  const parsed = parseNotePrefix(prefix, agent);
  if (parsed.agent === agent) return parsed.prefix;
  throw otherAgents("prefix", prefix, agent);
}

function otherAgents(field: string, given: string | undefined, agent: string): TokenBudgetError {
  const message = `${field} is ${shownValue(given)}, which is not among the notes of ${agent}. Name its agent as agentName.`;
  return new TokenBudgetError("invalid_path", message);
}
