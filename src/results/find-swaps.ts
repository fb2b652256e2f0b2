/**
 * Finds results that may have come back under the number of another record:
 *
 * - swapped: the failed result of record 3 holds the name that was sent with record 8.
 * - indistinct: records 3 and 8 have equal echoes and different results, so nobody would notice a swap.
 *
 * Called by `prove-join.ts`. A whole column at other records is found earlier, in `column-kinds.ts`.
 */
import { fieldValue, indexFrom } from '../csv/table.js';
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import { freeMemory } from '../streams/large-buffers.js';
import type { ColumnKind, FileStatus, Judgement } from '../types.js';
import { bothStatuses, everyIndex, foldText, indexesWithStatus, type SentField } from './column-kinds.js';
import { answerText } from './join-by-echo.js';
import type { Joined } from './join-method.js';

/** A chunk whose results are joined, with what is known about its columns. */
export interface KnownChunk {
  readonly joined: Joined;
  readonly records: RecordBlock;
  /** The sent columns without the key column. */
  readonly fields: readonly SentField[];
  /** The kinds of those that came back. */
  readonly kinds: Judgement['kinds'];
}

/**
 * Indexes of records with equal echoes and different results, so that the results may be swapped. Leaves out records that
 * were sent with equal values, because a swap makes no difference there, and parts that return only the key.
 */
export function indistinctEchoes(
  { joined, records, fields, kinds }: KnownChunk,
  statuses: readonly FileStatus[],
  key: string,
): ReadonlySet<number> {
  const indistinct = new Set<number>();
  // A success and a failure may be swapped too.
  const hasBoth = bothStatuses.every((status) => Object.keys(kinds[status]).length > 0);
  for (const group of [...statuses.map((status) => [status]), ...(hasBoth ? [bothStatuses] : [])]) {
    const returned = group.map((status) => kinds[status]);
    if (returned.every((some) => Object.keys(some).length === 0)) continue;
    const kindOf = ({ column }: SentField) => {
      const found = returned.map(({ [column]: kind }) => kind);
      return found.includes('folded') ? 'folded' : found.find((kind) => kind === 'exact');
    };
    const echoes = fields.filter((field) => kindOf(field) !== undefined);
    const notCompared = new Set([key, ...echoes.map(({ column }) => column)]);
    const echoesOf = echoes.map((field) => {
      const kind = kindOf(field);
      return (index: number) => sentAs(kind, records, index, field);
    });
    const sentOf = (index: number) =>
      fields.map((field) => sentAs('exact', records, index, field)).join('\0');
    const all = indexesWithStatus(joined, records, group);
    const groups = groupsWithEqual(echoesOf, all);
    freeMemory(all);
    for (const indexes of groups) {
      if (new Set(indexes.map(sentOf)).size === 1) continue;
      const answers = new Set(indexes.map((index) => answerText(joined, index, notCompared)));
      if (answers.size > 1) for (const index of indexes) indistinct.add(index);
    }
  }
  return indistinct;
}

/**
 * Checks that no failed result holds, in a sent column, the value of another record, unless an echo distinguishes the
 * two records. A value that many records share, such as a state, may be a correction by the service.
 *
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function checkNotSwapped({ joined, records, fields, kinds: { FAILED: kinds } }: KnownChunk): void {
  const echoes = fields.filter(({ column }) => kinds[column] === 'exact' || kinds[column] === 'folded');
  const failed = indexesWithStatus(joined, records, ['FAILED']);
  const haveEqualEchoes = (one: number, other: number) =>
    echoes.every((echo) => {
      const kind = kinds[echo.column];
      return sentAs(kind, records, one, echo) === sentAs(kind, records, other, echo);
    });
  for (const field of fields.filter(({ column }) => kinds[column] === 'answer')) {
    const indexes = groupBy(everyIndex(records), (index) => sentAs('folded', records, index, field));
    for (const index of failed) {
      const table = joined.parts[joined.part[index]!]!;
      const at = table.columns.indexOf(field.column);
      const returned = at < 0 ? '' : foldText(fieldValue(table, joined.result[index]!, at));
      const others = returned === '' ? [] : (indexes.get(returned) ?? []);
      if (others.includes(index) || others.length > Math.max(1, records.count / 20)) continue;
      const other = others.find((one) => haveEqualEchoes(one, index));
      if (other !== undefined)
        throw swappedError(field.column, records.numbers[index]!, records.numbers[other]!);
    }
  }
}

function swappedError(column: string, record: number, other: number): MismatchError {
  return new MismatchError(
    'ECHO_UNPROVEN',
    `a failed result has the number of record ${record} and the ${column} of record ${other}, so it is unknown to which of them it belongs`,
    { hint: 'nothing more is uploaded; ask the service provider what its results hold' },
  );
}

function sentAs(
  kind: ColumnKind | undefined,
  records: RecordBlock,
  index: number,
  { sourceField }: SentField,
): string {
  const text = fieldValue(records, index, sourceField);
  return kind === 'folded' ? foldText(text) : text;
}

/** A text of each record, by its index. */
type TextOf = (index: number) => string;

/**
 * The groups of several records whose texts are all equal. Compares one text after the other, short ones first, so that
 * few records are left for the long ones.
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

/** Groups the records by a text. Each group keeps their order. */
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

/** The records whose texts may be equal to those of another record, because the hashes are equal. */
function withEqualHashes(texts: readonly TextOf[], indexes: Int32Array): readonly number[] {
  let left = indexes.slice();
  let hashes = new Int32Array(left.length);
  for (const textOf of texts) {
    for (let at = 0; at < left.length; at++) hashes[at] = hashOf(textOf(left[at]!), hashes[at]!);
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
/** Marks the end of a text: no UTF-16 code unit has this value. */
const END = 0x1_0000;
