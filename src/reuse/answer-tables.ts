/** Makes the answers in a lane of a choice into tables, as the row writer takes them: one for each kind of answer. */
import type { NumberedAnswers, ResultSource } from '../results/answers.js';
import type { PartTable } from '../results/part-table.js';
import { takeNumbers } from '../streams/buffer-pool.js';
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
  // By number: where the value begins (0: no entry), and the entry's other numbers. The entries lie in no order, so they
  // are read once, one after the other; this array is small enough for the processor's cache.
  const places = allPlaces.ints(ANSWER_INTS * 2 ** laneBits);
  places.fill(0, 0, ANSWER_INTS * 2 ** laneBits);
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
  const numbers = takeNumbers(count);
  const source = takeNumbers(count);
  const result = takeNumbers(count);
  const paid = lineage ? new Int32Array(count) : null;
  const starts = takeNumbers(count);
  const ends = takeNumbers(count);
  const sources = createSources(lineage ? origins.length : 0, failures + 1);
  const layoutOf = Int32Array.from(origins, ({ layout }) => layout);
  let record = 0;
  for (let place = 0; record < count; place += ANSWER_INTS) {
    const value = places[place]!;
    if (value === 0) continue;
    const origin = places[place + 1]!;
    const meta = places[place + 3]!;
    const kind = isFailure(meta) ? failures : layoutOf[origin]!;
    numbers[record] = first + place / ANSWER_INTS;
    source[record] = sources.indexOf(kind, lineage ? origin : -1);
    result[record] = record;
    if (paid !== null) paid[record] = places[place + 2]!;
    starts[record] = value * Int32Array.BYTES_PER_ELEMENT;
    ends[record] = starts[record]! + valueBytes(meta);
    record += 1;
  }
  const bytes = new Uint8Array(ints.buffer, ints.byteOffset, ints.byteLength);
  const values = { bytes, count, fields: 1, starts, ends, isJoined: true };
  const tables = [...layouts, FAILURE_COLUMNS].map((columns, kind): PartTable => {
    const fileStatus = kind === failures ? 'FAILED' : 'SUCCESSFUL';
    return { ...values, columns, reference: { fileStatus, part: 0 } };
  });
  const used = sources.list.map(({ kind, origin }): ResultSource => {
    const { run, folio, part, answeredAt } = origin < 0 ? NO_ORIGIN : origins[origin]!;
    const table = tables[kind]!;
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

/** Used by one call at a time. */
const allPlaces = new Scratch();

const FAILURE_COLUMNS = [REASON_COLUMN];
const NONE: ReadonlySet<number> = new Set();
const NO_ORIGIN = { run: null, folio: null, part: null, answeredAt: null };

/** The sources in use: one for each kind and origin. */
function createSources(origins: number, kinds: number) {
  const list: { readonly kind: number; readonly origin: number }[] = [];
  const indexes = new Int32Array((origins + 1) * kinds).fill(-1);
  return {
    list,
    indexOf: (kind: number, origin: number): number => {
      const key = (origin + 1) * kinds + kind;
      if (indexes[key] === -1) indexes[key] = list.push({ kind, origin }) - 1;
      return indexes[key]!;
    },
  };
}
