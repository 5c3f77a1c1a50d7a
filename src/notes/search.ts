// Literal, case-sensitive search in the lines of one note. Pure.

const LINE_FEED = "\n";

export interface LineMatch {
  /** 1-based. */
  readonly line: number;
  /** The whole line without its line feed. */
  readonly text: string;
  /** Where the line's first match lies, in code units of `text`. */
  readonly start: number;
  readonly end: number;
}

export interface NoteMatches {
  readonly matches: LineMatch[];
  /** Lines that match, those beyond the limit included. */
  readonly total: number;
  /** The first that is beyond the limit. */
  readonly next: LineMatch | undefined;
}

/** The lines that hold `query`, the first `limit` of them in full, from a line on. A line counts once. */
export function searchLines(text: string, query: string, limit: number, fromLine = 1): NoteMatches {
  const matches: LineMatch[] = [];
  let total = 0;
  let next: LineMatch | undefined;
  // Half a pair would match inside whole characters; stored text holds no half, so nothing can match.
  if (query === "" || query.includes(LINE_FEED) || !query.isWellFormed()) return { matches, total, next };
  let line = 1;
  let lineStart = 0;
  let hit = text.indexOf(query);
  while (hit >= 0) {
    for (let feed = text.indexOf(LINE_FEED, lineStart); feed >= 0 && feed < hit; ) {
      line++;
      lineStart = feed + 1;
      feed = text.indexOf(LINE_FEED, lineStart);
    }
    const feed = text.indexOf(LINE_FEED, hit);
    const lineEnd = feed < 0 ? text.length : feed;
    if (line >= fromLine) total++;
    if (line >= fromLine && next === undefined) {
      const start = hit - lineStart;
      const match = { line, text: text.slice(lineStart, lineEnd), start, end: start + query.length };
      if (matches.length < limit) matches.push(match);
      else next = match;
    }
    hit = feed < 0 ? -1 : text.indexOf(query, feed + 1);
  }
  return { matches, total, next };
}
