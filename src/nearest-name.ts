/** "Did you mean": the known name that a person probably meant by a wrong one. */
import { closest, distance } from 'fastest-levenshtein';

/** The known name with the fewest edits, if they are at most a third of its length, or two. */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const name = closest(wrong, names);
  return distance(wrong, name) <= Math.max(2, Math.floor(name.length / 3)) ? name : undefined;
}

/** The first known name that differs only in case, blanks, punctuation and other marks. */
export function lookalikeName(wrong: string, names: readonly string[]): string | undefined {
  const fold = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return names.find((name) => fold(name) === fold(wrong));
}
