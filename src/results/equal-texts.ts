/** Finds records with equal texts, of which there are mostly few, without holding the texts of all records. */
import { indexFrom } from '../csv/table.js';
import { freeMemory } from '../streams/buffer-pool.js';

/** A text of each record. @param index of the record. */
type TextOf = (index: number) => string;

/**
 * The groups of several records whose texts are all equal. Looks at one text after the other, those that begin short
 * first: few records are left when it comes to long texts.
 */
export function groupsWithEqual(
  texts: readonly TextOf[],
  indexes: Int32Array,
): readonly (readonly number[])[] {
  const [first] = indexes;
  if (first === undefined) return [];
  const shortFirst = [...texts].sort((a, b) => a(first).length - b(first).length);
  return shortFirst.reduce<readonly (readonly number[])[]>(
    (groups, textOf) =>
      groups.flatMap((group) => [...groupBy(group, textOf).values()].filter(({ length }) => length > 1)),
    [withEqualHashes(shortFirst, indexes)],
  );
}

/** The records by this text, each group in their order. */
export function groupBy(indexes: Iterable<number>, keyOf: TextOf): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const index of indexes) {
    const key = keyOf(index);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  }
  return groups;
}

/** The records whose texts may be equal to those of another one: the hash of their texts is. */
function withEqualHashes(texts: readonly TextOf[], indexes: Int32Array): readonly number[] {
  let left = indexes.slice();
  let hashes = new Int32Array(left.length);
  for (const textOf of texts) {
    for (const [at, index] of left.entries()) hashes[at] = hashOf(textOf(index), hashes[at]!);
    const sorted = hashes.slice().sort();
    const repeated = sorted.filter((hash, at) => hash === sorted[at - 1] || hash === sorted[at + 1]);
    const isRepeated = (hash: number) => repeated[indexFrom(repeated, hash)] === hash;
    const kept = [left.filter((_, at) => isRepeated(hashes[at]!)), hashes.filter(isRepeated)] as const;
    for (const array of [left, hashes, sorted, repeated]) freeMemory(array);
    [left, hashes] = kept;
  }
  const found = [...left];
  for (const array of [left, hashes]) freeMemory(array);
  return found;
}

/** Continues a hash (FNV-1a) with a text and its end. */
function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return Math.imul(hash ^ END, PRIME);
}

const PRIME = 0x0100_0193;
/** No code unit. */
const END = 0x1_0000;
