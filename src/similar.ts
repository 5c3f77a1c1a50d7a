// Which of the known names a wrong one may have meant. Pure.

/** Below this likeness (0 to 1) a name is no help. */
const LIKENESS_MIN = 0.35;

function bigrams(name: string): Set<string> {
  const folded = ` ${name.toLowerCase()} `;
  const pairs = new Set<string>();
  for (let unit = 0; unit + 1 < folded.length; unit++) pairs.add(folded.slice(unit, unit + 2));
  return pairs;
}

/** Share of letter pairs that two names have in common. */
function likeness(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of left) if (right.has(pair)) common++;
  return (2 * common) / (left.size + right.size);
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** At most `limit` of the names or paths that look most like the wanted one, the likest first. */
export function similarNames(
  wanted: string,
  names: readonly string[],
  limit: number,
  leastLikeness: number = LIKENESS_MIN,
): string[] {
  const whole = bigrams(wanted);
  const last = bigrams(lastSegment(wanted));
  return names
    .map((name) => ({
      name,
      score: Math.max(likeness(whole, bigrams(name)), likeness(last, bigrams(lastSegment(name)))),
    }))
    .filter(({ score }) => score >= leastLikeness)
    .sort((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name);
}
