/** Makes the answers in a lane of a choice into tables, as the row writer takes them: one for each kind of answer. */
import { LF } from '../csv/bytes.js';
import type { NumberedAnswers, ResultSource } from '../results/answers.js';
import { type PartTable, readResults } from '../results/part-table.js';
import { takeBuffer } from '../streams/buffer-pool.js';
import { ANSWER_INTS, type ChoiceDirectory } from './choice-format.js';
import { isFailure, valueBytes, valueInts } from './segment-format.js';

/** The column of a table of failures. */
export const REASON_COLUMN = 'error';

/** Answers of one kind: the successful ones of the same columns, or the failures. */
interface Kind {
  readonly columns: readonly string[];
  readonly isFailed: boolean;
  /** Rows and bytes of the table. */
  count: number;
  bytes: number;
  out: Buffer;
  /** For each row, where it begins and ends. Not used where a row has several fields, which must be found. */
  starts: Int32Array;
  ends: Int32Array;
  /** For each row, the number of the record that has paid. */
  paid: Int32Array;
}

/**
 * @param ints the entries of the lane, in any order.
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
  const kinds = [...layouts.map((columns) => kindOf(columns, false)), kindOf([REASON_COLUMN], true)];
  const failures = kinds.length - 1;
  const kindAt = (at: number) => (isFailure(ints[at + 3]!) ? failures : origins[ints[at + 1]!]!.layout);
  let count = 0;
  for (let at = 0; at < ints.length; at += ANSWER_INTS + valueInts(ints[at + 3]!)) {
    if (ints[at]! < from) continue;
    entryOf[ints[at]! - first] = at + 1;
    const kind = kinds[kindAt(at)]!;
    kind.count += 1;
    kind.bytes += valueBytes(ints[at + 3]!) + 1;
    count += 1;
  }
  for (const kind of kinds) {
    kind.out = takeBuffer(kind.bytes);
    kind.starts = new Int32Array(kind.count);
    kind.ends = new Int32Array(kind.count);
    kind.paid = new Int32Array(kind.count);
    kind.count = 0;
    kind.bytes = 0;
  }
  const numbers = new Int32Array(count);
  const source = new Int32Array(count);
  const result = new Int32Array(count);
  const sources = createSources(lineage ? origins.length : 0, kinds.length);
  const bytes = new Uint8Array(ints.buffer, ints.byteOffset, ints.byteLength);
  let record = 0;
  for (let index = 0; index < entryOf.length; index++) {
    const at = entryOf[index]! - 1;
    if (at < 0) continue;
    const kindIndex = kindAt(at);
    const kind = kinds[kindIndex]!;
    numbers[record] = ints[at]!;
    source[record] = sources.indexOf(kindIndex, lineage ? ints[at + 1]! : -1);
    result[record] = kind.count;
    kind.paid[kind.count] = ints[at + 2]!;
    addRow(kind, bytes, (at + ANSWER_INTS) * Int32Array.BYTES_PER_ELEMENT, valueBytes(ints[at + 3]!));
    record += 1;
  }
  const tables = kinds.map((kind) => (kind.count === 0 ? undefined : tableOf(kind)));
  const used = sources.list.map(({ kind, origin }): ResultSource => {
    const { run, folio, part, answeredAt } = origin < 0 ? NO_ORIGIN : origins[origin]!;
    const records = lineage ? kinds[kind]!.paid : null;
    const table = tables[kind]!;
    return { table, answered: ANSWERED, run, folio, part, answeredAt, records, origin: 'reused' };
  });
  return { numbers, answers: { sources: used, source, result, indistinct: NONE } };
}

const ANSWERED = [REASON_COLUMN];
const NONE: ReadonlySet<number> = new Set();
const NO_ORIGIN = { run: null, folio: null, part: null, answeredAt: null };

const NO_NUMBERS = new Int32Array(0);

function kindOf(columns: readonly string[], isFailed: boolean): Kind {
  const empty = { out: Buffer.alloc(0), starts: NO_NUMBERS, ends: NO_NUMBERS, paid: NO_NUMBERS };
  return { columns, isFailed, count: 0, bytes: 0, ...empty };
}

function addRow(kind: Kind, bytes: Uint8Array, from: number, size: number): void {
  const { out } = kind;
  let to = kind.bytes;
  kind.starts[kind.count] = to;
  for (let i = 0; i < size; i++) out[to++] = bytes[from + i]!;
  kind.ends[kind.count] = to;
  out[to++] = LF;
  kind.bytes = to;
  kind.count += 1;
}

function tableOf({ columns, isFailed, count, bytes, out, starts, ends }: Kind): PartTable {
  const fileStatus = isFailed ? 'FAILED' : 'SUCCESSFUL';
  const reference = { fileStatus, part: 0, records: count } as const;
  const rows = out.subarray(0, bytes);
  if (columns.length > 1) return readResults(reference, { columns, bytes: 0 }, rows);
  // A value of its own may be empty, and would be read as a blank line.
  return { reference, columns, bytes: rows, count, fields: 1, starts, ends };
}

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
