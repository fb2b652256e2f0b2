/** The answers of a chunk: one for each record. They may come from several uploads and searches. */
import type { ColumnKinds } from '../types.js';
import type { Joined } from './join-method.js';
import type { PartTable } from './part-table.js';

/** Results that hold answers, with the values of their lineage columns. */
export interface AnswerSource {
  readonly table: PartTable;
  /** Null if a search gave the answers. */
  readonly folio: string | null;
  /** Null if a search gave the answers. */
  readonly part: number | null;
  /** In a table of failures: the sent columns that hold an answer of the service. */
  readonly answered: readonly string[];
}

export interface Answers {
  readonly sources: readonly AnswerSource[];
  /** Index into `sources`, for each record of the chunk. */
  readonly source: Int32Array;
  /** Index of the result in its table, for each record of the chunk. */
  readonly result: Int32Array;
  /** Indexes of records that were sent with equal values but have different results, so that results may be swapped. */
  readonly indistinct: ReadonlySet<number>;
}

/** Answers, and the numbers of their records, ascending. */
export interface NumberedAnswers {
  readonly numbers: Int32Array;
  readonly answers: Answers;
}

/**
 * The answers in a joined chunk.
 *
 * @param folio of the joined parts; null for a search.
 * @param failed kinds of the sent columns in parts of failures.
 */
export function answersFromJoin(
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
export function mayHaveFailures({ sources }: Answers): boolean {
  return sources.some(({ table }) => table.reference.fileStatus === 'FAILED' && table.count > 0);
}

/** The older answers, in which a newer answer replaces each failure. */
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

/** Index of the first number that is not below `limit`. @param numbers ascending. */
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
