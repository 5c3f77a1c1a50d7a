// Words for a POSIX shell. Pure.

/** One word, whatever is in it. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export function quotedWords(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}
