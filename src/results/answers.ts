/** The answers of records: one for each. They may come from several uploads, searches and earlier nights. */
import { indexFrom } from '../csv/table.js';
import { takeNumbers } from '../streams/large-buffers.js';
import type { ColumnKinds, PredictionErrorCode, PredictionStatus, UnprocessedCause } from '../types.js';
import type { Joined } from './join-method.js';
import type { PartTable } from './part-table.js';

/** The lineage of all answers of a source: who has paid for them, and when. */
export interface Lineage {
  /** Null: this run. */
  readonly run: string | null;
  /** Null if the answer belongs to no folio, such as that of a search. */
  readonly folio: string | null;
  readonly part: number | null;
  /** When the service accepted the request; epoch milliseconds, or null if it accepted none. */
  readonly answeredAt: number | null;
}

/** Results that hold answers: of this run, or reused ones of earlier runs. */
export interface ResultSource extends Lineage {
  readonly origin: 'sent' | 'reused';
  readonly table: PartTable;
  /** In a table of failures: the sent columns that hold an answer of the service. */
  readonly answered: readonly string[];
  /** For each result: the number of the record that was paid for. Null: the number of the record that is answered. */
  readonly records: Int32Array | null;
}

/** One answer for records that have no result. */
export interface FixedSource extends Lineage {
  readonly origin: 'fixed';
  readonly status: Exclude<PredictionStatus, 'SUCCESSFUL'>;
  readonly code: PredictionErrorCode;
  readonly reason: string;
}

export type AnswerSource = ResultSource | FixedSource;

export interface Answers {
  readonly sources: readonly AnswerSource[];
  /** Index into `sources`, for each record. */
  readonly source: Int32Array;
  /** Index of the result in its table, for each record. */
  readonly result: Int32Array;
  /** Indexes of records that were sent with equal values but have different results, so that results may be swapped. */
  readonly indistinct: ReadonlySet<number>;
  /** For each record that has the answer of an earlier, equal record of the source: the earlier one's number; else 0. */
  readonly firsts?: Int32Array;
}

/** Answers, and the numbers of their records, ascending. */
export interface NumberedAnswers {
  readonly numbers: Int32Array;
  readonly answers: Answers;
}

/**
 * The answers in a joined chunk.
 *
 * @param paid the folio of the joined parts, and when it was accepted.
 * @param failed kinds of the sent columns in parts of failures.
 */
export function answersFromJoin(
  { parts, part, result, indistinct }: Joined,
  paid: Pick<Lineage, 'folio' | 'answeredAt'>,
  failed: ColumnKinds = {},
): Answers {
  const answered = Object.keys(failed).filter((column) => failed[column] === 'answer');
  const sources = parts.map((table) => ({
    origin: 'sent' as const,
    ...paid,
    run: null,
    part: table.reference.part,
    table,
    answered,
    records: null,
  }));
  return { sources, source: part, result, indistinct };
}

/** The same answer for a number of records. */
function fixedAnswers(
  count: number,
  fixed: Pick<FixedSource, 'status' | 'code' | 'reason' | 'folio'>,
): Answers {
  const none = new Int32Array(count);
  const source = { origin: 'fixed', run: null, part: null, answeredAt: null, ...fixed } as const;
  return { sources: [source], source: none, result: none, indistinct: new Set() };
}

/** The answers of records that were given up, with the cause. */
export function unprocessedAnswers(count: number, cause: UnprocessedCause, folio: string | null): Answers {
  return fixedAnswers(count, { status: 'UNPROCESSED', code: cause, reason: causeTexts[cause], folio });
}

const causeTexts: Readonly<Record<UnprocessedCause, string>> = {
  AMBIGUOUS_HELD: 'the upload may or may not have been accepted and was not sent again',
  FOLIO_LOST: 'the service no longer knows the folio of this record',
  FOLIO_ABANDONED: 'the folio of this record was given up by hand',
  DEADLINE: 'the deadline was reached before the service was done',
};

/** The answers of records that the service refused, with its reason. */
export function refusedAnswers(count: number, refusal: string): Answers {
  return fixedAnswers(count, { status: 'FAILED', code: 'RECORD_REFUSED', reason: refusal, folio: null });
}

/** The answers of records that are not sent, because they are blank in all sent columns. */
export function skippedAnswers(count: number): Answers {
  const reason = 'every sent column of this record is blank, so it was not sent';
  return fixedAnswers(count, { status: 'FAILED', code: 'NOTHING_TO_SEND', reason, folio: null });
}

/** Whether the records of a source were not sent, because they are blank. */
export function isSkipped(source: AnswerSource): boolean {
  return source.origin === 'fixed' && source.code === 'NOTHING_TO_SEND';
}

/** The answers of the records `from` to `to` (exclusive). */
export function sliceOfAnswers(
  { sources, indistinct, firsts, ...all }: Answers,
  from: number,
  to: number,
): Answers {
  return {
    sources,
    source: all.source.subarray(from, to),
    result: all.result.subarray(from, to),
    indistinct: new Set([...indistinct].flatMap((row) => (row >= from && row < to ? [row - from] : []))),
    ...(firsts && { firsts: firsts.subarray(from, to) }),
  };
}

/** The status of all records that are answered by the source. */
export function statusOf(source: AnswerSource): PredictionStatus {
  return source.origin === 'fixed' ? source.status : source.table.reference.fileStatus;
}

/** Whether a record has failed. @param record its index. */
export function isFailed({ sources, source }: Answers, record: number): boolean {
  return statusOf(sources[source[record]!]!) === 'FAILED';
}

/** Whether any record may have failed. */
export function mayHaveFailures({ sources }: Answers): boolean {
  return sources.some((one) => statusOf(one) === 'FAILED' && (one.origin === 'fixed' || one.table.count > 0));
}

/** Replaces failures among the older answers by newer answers. */
export function overlay({ numbers, answers: older }: NumberedAnswers, newer: NumberedAnswers): Answers {
  const source = older.source.slice();
  const result = older.result.slice();
  const indistinct = new Set(older.indistinct);
  let record = 0;
  for (let at = indexFrom(newer.numbers, numbers[0]!); at < newer.numbers.length; at++) {
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

/** Collects the answers of records from pieces. */
export interface AnswerBuilder {
  /** Takes the answers of the records that are in the piece. */
  add(piece: NumberedAnswers): void;
  /** As `add`, for doubles. @param firstOf from the number of a double to that of the record whose answer it takes. */
  addDoubles(piece: NumberedAnswers, firstOf: ReadonlyMap<number, number>): void;
  /** The answers of some of the records, so far. @param wanted their numbers; a number may come several times. */
  pick(wanted: readonly number[]): NumberedAnswers;
  /** Gives all records without an answer the first source of these. */
  addRest(answers: Answers): void;
  /** The number of the first record without an answer. */
  firstMissing(): number | undefined;
  answers(): Answers;
}

/** @param numbers of the records, ascending. The arrays of the answers are from `takeNumbers`. */
export function createAnswerBuilder(numbers: Int32Array): AnswerBuilder {
  const sources: AnswerSource[] = [];
  const source = takeNumbers(numbers.length).fill(NO_SOURCE);
  const result = takeNumbers(numbers.length).fill(0);
  const indistinct = new Set<number>();
  let firsts: Int32Array | undefined;

  const add = ({ numbers: given, answers }: NumberedAnswers) => {
    const first = sources.length;
    sources.push(...answers.sources);
    fillIn({ numbers, source, result }, given, answers, first);
    for (const at of answers.indistinct) {
      const record = indexOfNumber(numbers, given[at]!);
      if (record >= 0) indistinct.add(record);
    }
  };

  return {
    add,
    addDoubles: (piece, firstOf) => {
      firsts ??= new Int32Array(numbers.length);
      add(piece);
      for (const number of piece.numbers) {
        const record = indexOfNumber(numbers, number);
        if (record >= 0) firsts[record] = firstOf.get(number) ?? 0;
      }
    },
    pick: (wanted) => {
      const at = wanted.map((number) => indexFrom(numbers, number));
      const answers = {
        sources: [...sources],
        source: Int32Array.from(at, (record) => source[record]!),
        result: Int32Array.from(at, (record) => result[record]!),
        indistinct: NONE,
      };
      return { numbers: Int32Array.from(wanted), answers };
    },
    addRest: (answers) => {
      const at = sources.push(answers.sources[0]!) - 1;
      for (let i = 0; i < source.length; i++) if (source[i] === NO_SOURCE) source[i] = at;
    },
    firstMissing: () => {
      const at = source.indexOf(NO_SOURCE);
      return at === -1 ? undefined : numbers[at];
    },
    answers: () => ({ sources, source, result, indistinct, ...(firsts && { firsts }) }),
  };
}

const NO_SOURCE = -1;

/**
 * Gives records their answers. A function of its own, because a loop is compiled again for each closure that holds it.
 * @param given the numbers of the answers, ascending.
 * @param first index of the first source of the answers among those of the records.
 */
function fillIn(
  { numbers, source, result }: { readonly numbers: Int32Array } & Pick<Answers, 'source' | 'result'>,
  given: Int32Array,
  answers: Pick<Answers, 'source' | 'result'>,
  first: number,
): void {
  let record = 0;
  for (let at = indexFrom(given, numbers[0]!); at < given.length; at++) {
    const number = given[at]!;
    while (record < numbers.length && numbers[record]! < number) record += 1;
    if (record === numbers.length) return;
    if (numbers[record] !== number) continue;
    source[record] = first + answers.source[at]!;
    result[record] = answers.result[at]!;
  }
}

/** @returns -1 if it is not among them. @param numbers ascending. */
function indexOfNumber(numbers: Int32Array, number: number): number {
  const at = indexFrom(numbers, number);
  return numbers[at] === number ? at : -1;
}

const NONE: ReadonlySet<number> = new Set();
