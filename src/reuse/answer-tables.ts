/** Turns the answers in a lane of a choice into tables for the row writer: one for each kind of answer. */
import { bytesOf } from '../kernel/kernel-memory.js';
import type { NumberedAnswers, ResultSource } from '../results/answers.js';
import type { PartTable } from '../results/part-table.js';
import { giveBack, takeNumbers } from '../streams/large-buffers.js';
import { Scratch } from './append-file.js';
import { ANSWER_INTS, type ChoiceDirectory } from './choice-format.js';
import { isFailure, valueBytes, valueInts } from './segment-format.js';

/** The column of a table of failures. */
export const REASON_COLUMN = 'error';

/**
 * All tables share the bytes of the lane and the places of its values: their rows are the records, in order.
 * @param ints the entries of the lane, in any order; must not change while the answers are used.
 * @param first smallest number of the lane.
 * @param from smallest number that is wanted.
 * @param lineage whether there is a source for each origin.
 */
export function answersOfLane(
  ints: Int32Array<ArrayBuffer>,
  first: number,
  from: number,
  { origins, layouts, laneBits }: Pick<ChoiceDirectory, 'origins' | 'layouts' | 'laneBits'>,
  lineage: boolean,
): NumberedAnswers {
  const failures = layouts.length;
  const places = allPlaces.ints(ANSWER_INTS * 2 ** laneBits);
  places.fill(0, 0, ANSWER_INTS * 2 ** laneBits);
  const count = placeEntries(ints, first, from, places);
  const numbers = takeNumbers(count);
  const source = takeNumbers(count);
  const result = takeNumbers(count);
  const paid = lineage ? new Int32Array(count) : null;
  const starts = takeNumbers(count);
  const ends = takeNumbers(count);
  const kinds = failures + 1;
  const kindOf = Int32Array.from(origins, ({ layout }) => layout);
  const indexes = new Int32Array(((lineage ? origins.length : 0) + 1) * kinds).fill(-1);
  /** The sources in use, one for each kind and origin: their places in `indexes`. */
  const keys: number[] = [];
  for (let record = 0, place = 0; record < count; place += ANSWER_INTS) {
    const value = places[place]!;
    if (value === 0) continue;
    const origin = places[place + 1]!;
    const meta = places[place + 3]!;
    const kind = isFailure(meta) ? failures : kindOf[origin]!;
    const key = lineage ? (origin + 1) * kinds + kind : kind;
    if (indexes[key] === -1) indexes[key] = keys.push(key) - 1;
    numbers[record] = first + place / ANSWER_INTS;
    source[record] = indexes[key]!;
    result[record] = record;
    if (paid !== null) paid[record] = places[place + 2]!;
    starts[record] = value * Int32Array.BYTES_PER_ELEMENT;
    ends[record] = starts[record]! + valueBytes(meta);
    record += 1;
  }
  const values = { bytes: bytesOf(ints), count, fields: 1, starts, ends, isJoined: true };
  const tables = [...layouts, FAILURE_COLUMNS].map((columns, kind): PartTable => {
    const fileStatus = kind === failures ? 'FAILED' : 'SUCCESSFUL';
    return { ...values, columns, reference: { fileStatus, part: 0 } };
  });
  const used = keys.map((key): ResultSource => {
    const { run, folio, part, answeredAt } = key < kinds ? NO_ORIGIN : origins[Math.floor(key / kinds) - 1]!;
    const table = tables[key % kinds]!;
    return {
      table,
      answered: FAILURE_COLUMNS,
      run,
      folio,
      part,
      answeredAt,
      records: paid,
      origin: 'reused',
    };
  });
  return { numbers, answers: { sources: used, source, result, indistinct: NONE } };
}

/**
 * Frees the memory of a lane's answers, whose tables share their arrays. It must not be used after that.
 */
export function giveBackLane({ numbers, answers: { source, result, sources } }: NumberedAnswers): void {
  for (const array of [numbers, source, result]) giveBack(array);
  const [one] = sources;
  if (one === undefined || one.origin === 'fixed') return;
  for (const array of [one.table.bytes, one.table.starts, one.table.ends]) giveBack(array);
}

/**
 * Finds the entries of a lane by number: where the value begins (0: no entry), and the entry's other numbers. The
 * entries are unordered, so they are read once, in sequence; `places` is small enough for the processor's cache.
 * @returns the number of entries.
 */
function placeEntries(ints: Int32Array, first: number, from: number, places: Int32Array): number {
  let count = 0;
  for (let at = 0; at < ints.length; ) {
    const number = ints[at]!;
    const meta = ints[at + 3]!;
    if (number >= from) {
      const place = (number - first) * ANSWER_INTS;
      places[place] = at + ANSWER_INTS;
      places[place + 1] = ints[at + 1]!;
      places[place + 2] = ints[at + 2]!;
      places[place + 3] = meta;
      count += 1;
    }
    at += ANSWER_INTS + valueInts(meta);
  }
  return count;
}

/** Used by one call at a time. */
const allPlaces = new Scratch();

const FAILURE_COLUMNS = [REASON_COLUMN];
const NONE: ReadonlySet<number> = new Set();
const NO_ORIGIN = { run: null, folio: null, part: null, answeredAt: null };
