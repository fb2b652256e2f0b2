/** The one answer of each record of a chunk, from whichever upload or search it came. */
import type { ColumnKinds } from '../types.js';
import type { Joined } from './joined.js';
import type { PartTable } from './part-table.js';

/** Results that answers are taken from, and what the lineage columns say of them. */
export interface AnswerSource {
  readonly table: PartTable;
  /** Null where a search gave the answers. */
  readonly folio: string | null;
  /** Null where a search gave the answers. */
  readonly part: number | null;
  /** In a table of failures: the sent columns in which the service answers. */
  readonly answered: readonly string[];
}

export interface Answers {
  readonly sources: readonly AnswerSource[];
  /** Index into `sources`, for each record of the chunk. */
  readonly source: Int32Array;
  /** Index of the result in its table, for each record of the chunk. */
  readonly result: Int32Array;
  /** Indexes of records that were sent with equal values but have different results, so it is unknown which is whose. */
  readonly indistinct: ReadonlySet<number>;
}

/** Answers, and the numbers of their records, ascending. */
export interface NumberedAnswers {
  readonly numbers: Int32Array;
  readonly answers: Answers;
}

/**
 * @param folio where the joined parts come from.
 * @param failed what the sent columns are in parts of failures.
 */
export function answersOf(
  { parts, part, result, indistinct }: Joined,
  folio: string | null,
  failed: ColumnKinds = {},
): Answers {
  const answered = Object.keys(failed).filter((column) => failed[column] === 'answer');
  const sources = parts.map((table) => ({ table, folio, part: table.reference.part, answered }));
  return { sources, source: part, result, indistinct };
}

/** Whether a record has failed. @param record its index in the chunk. */
export function isFailed({ sources, source }: Answers, record: number): boolean {
  return sources[source[record]!]!.table.reference.fileStatus === 'FAILED';
}

/** Whether any record may have failed. */
export function hasFailed({ sources }: Answers): boolean {
  return sources.some(({ table }) => table.reference.fileStatus === 'FAILED' && table.count > 0);
}

/** The older answers; a newer one replaces that of a record that has failed. */
export function overlay({ numbers, answers: older }: NumberedAnswers, newer: NumberedAnswers): Answers {
  const source = older.source.slice();
  const result = older.result.slice();
  const indistinct = new Set(older.indistinct);
  let record = 0;
  for (let at = firstFrom(newer.numbers, numbers[0]!); at < newer.numbers.length; at++) {
    const number = newer.numbers[at]!;
    while (record < numbers.length && numbers[record]! < number) record += 1;
    if (record === numbers.length) break;
    if (numbers[record] !== number || !isFailed(older, record)) continue;
    source[record] = older.sources.length + newer.answers.source[at]!;
    result[record] = newer.answers.result[at]!;
    if (newer.answers.indistinct.has(at)) indistinct.add(record);
    else indistinct.delete(record);
  }
  return { sources: [...older.sources, ...newer.answers.sources], source, result, indistinct };
}

/** Index of the first of ascending numbers that is not below a limit. */
function firstFrom(numbers: Int32Array, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
