/** Makes the answers in a lane of a choice into tables, as the row writer takes them: one for each kind of answer. */
import type { NumberedAnswers, ResultSource } from '../results/answers.js';
import type { PartTable } from '../results/part-table.js';
import { takeNumbers } from '../streams/buffer-pool.js';
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
  // Index of the entry plus one, by number: the entries of a lane have different numbers.
  const entryOf = new Int32Array(2 ** laneBits);
  const failures = layouts.length;
  let count = 0;
  for (let at = 0; at < ints.length; at += ANSWER_INTS + valueInts(ints[at + 3]!)) {
    if (ints[at]! < from) continue;
    entryOf[ints[at]! - first] = at + 1;
    count += 1;
  }
  const numbers = new Int32Array(count);
  const source = new Int32Array(count);
  const result = new Int32Array(count);
  const paid = new Int32Array(count);
  const starts = takeNumbers(count);
  const ends = takeNumbers(count);
  const sources = createSources(lineage ? origins.length : 0, failures + 1);
  let record = 0;
  for (let index = 0; index < entryOf.length; index++) {
    const at = entryOf[index]! - 1;
    if (at < 0) continue;
    const meta = ints[at + 3]!;
    const origin = ints[at + 1]!;
    const kind = isFailure(meta) ? failures : origins[origin]!.layout;
    numbers[record] = ints[at]!;
    source[record] = sources.indexOf(kind, lineage ? origin : -1);
    result[record] = record;
    paid[record] = ints[at + 2]!;
    starts[record] = (at + ANSWER_INTS) * Int32Array.BYTES_PER_ELEMENT;
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
    const records = lineage ? paid : null;
    const table = tables[kind]!;
    return { table, answered: FAILURE_COLUMNS, run, folio, part, answeredAt, records, origin: 'reused' };
  });
  return { numbers, answers: { sources: used, source, result, indistinct: NONE } };
}

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
