/** The one answer that stands for each record of a chunk, from whichever upload or search it came. */
import type { ColumnKinds } from '../types.js';
import type { Joined } from './joined.js';
import type { PartTable } from './part-table.js';

/** Results that answers are taken from, and what the lineage says of them. */
export interface AnswerSource {
  readonly table: PartTable;
  /** Null where a search gave it, as is `part`. */
  readonly folio: string | null;
  readonly part: number | null;
  /** Sent columns in which the service answers, in a table of failures. */
  readonly answered: readonly string[];
}

export interface Answers {
  readonly sources: readonly AnswerSource[];
  /** [records of the chunk] index into `sources`. */
  readonly source: Int32Array;
  /** [records of the chunk] number of the result in its table, from 0. */
  readonly result: Int32Array;
  /** Places of records whose equal tuples have different results, so that which got which is not known. */
  readonly indistinct: ReadonlySet<number>;
}

/** Answers, and the numbers of the records that they belong to, ascending. */
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

/** Whether the record at this place of the chunk has failed. */
export function isFailed({ sources, source }: Answers, place: number): boolean {
  return sources[source[place]!]!.table.reference.fileStatus === 'FAILED';
}

/** Whether any record may have failed. */
export function hasFailed({ sources }: Answers): boolean {
  return sources.some(({ table }) => table.reference.fileStatus === 'FAILED' && table.count > 0);
}

/** The older answers, but where a record has failed and there is a newer answer, that one. */
export function layOver({ numbers, answers: older }: NumberedAnswers, newer: NumberedAnswers): Answers {
  const source = older.source.slice();
  const result = older.result.slice();
  const indistinct = new Set(older.indistinct);
  let place = 0;
  for (let at = firstFrom(newer.numbers, numbers[0]!); at < newer.numbers.length; at++) {
    const number = newer.numbers[at]!;
    while (place < numbers.length && numbers[place]! < number) place += 1;
    if (place === numbers.length) break;
    if (numbers[place] !== number || !isFailed(older, place)) continue;
    source[place] = older.sources.length + newer.answers.source[at]!;
    result[place] = newer.answers.result[at]!;
    if (newer.answers.indistinct.has(at)) indistinct.add(place);
    else indistinct.delete(place);
  }
  return { sources: [...older.sources, ...newer.answers.sources], source, result, indistinct };
}

/** Place of the first number that is not below a limit. */
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
