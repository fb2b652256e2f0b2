/**
 * Tables in the memory of one kernel, loaded once for comparing echoes and for writing rows. Invariant: the held tables
 * come first, in the order of the last `hold`; all other data is loaded after them. Only a slice of large records is
 * held at a time, because a memory never shrinks.
 */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { giveBack, takeNumbers } from '../../streams/large-buffers.js';
import { COMMA } from '../bytes.js';
import { bytesBetween, endOfFitting, type Table } from '../table.js';

/** Tables of this size fit into 2 GiB of memory, together with their largest row, which is not larger. */
const MAX_TABLE_BYTES = 768 * 1024 * 1024;

/** The most bytes of records that are worked on at once, unless a single record has more. */
export const SLICE_BYTES = 2 * 1024 * 1024;

/** Addresses of a table's arrays. */
export interface TableAddresses {
  readonly bytes: number;
  readonly starts: number;
  readonly ends: number;
}

interface HeldTable {
  /** The table's array of bytes, which identifies the table. */
  readonly bytes: Uint8Array;
  readonly addresses: TableAddresses;
  /** Address after the table. */
  readonly end: number;
}

export class TableMemory<Exports> {
  readonly memory = new KernelMemory<Exports>();
  readonly #maxTableBytes: number;
  #held: HeldTable[] = [];
  #end = SPARE_BYTES;

  /** @param maxTableBytes `canHold` is false for larger tables; the caller then works without WebAssembly. */
  constructor(maxTableBytes = MAX_TABLE_BYTES) {
    this.#maxTableBytes = maxTableBytes;
  }

  /** Address after all loaded data. */
  get end(): number {
    return this.#end;
  }

  /** Whether there is room for the tables and for the results computed from them. */
  canHold(tables: readonly Table[]): boolean {
    return tables.reduce((sum, table) => sum + sizeOf(table), 0) <= this.#maxTableBytes;
  }

  /**
   * Loads tables. Does not load the first tables again if they are those of the last call: a table with the same `bytes`
   * object must not have changed since then.
   */
  hold(tables: readonly Table[]): readonly TableAddresses[] {
    let same = 0;
    while (same < tables.length && this.#held[same]?.bytes === tables[same]!.bytes) same++;
    this.#held.length = same;
    this.#end = this.#held.at(-1)?.end ?? SPARE_BYTES;
    for (const { bytes, count, fields, starts, ends } of tables.slice(same)) {
      const addresses = {
        bytes: this.load(bytes),
        starts: this.load(bytesOf(starts.subarray(0, count))),
        ends: this.load(bytesOf(ends.subarray(0, count * fields))),
      };
      this.#held.push({ bytes, addresses, end: this.#end });
    }
    return this.#held.map(({ addresses }) => addresses);
  }

  /** Frees the memory for others. After this call, it must not be used. */
  release(): void {
    this.#held = [];
    this.memory.release();
  }

  /** Loads bytes after the other data; they stay until the next `hold`. Returns their address. */
  load(bytes: Uint8Array): number {
    const address = this.#end;
    this.#end = aligned(address + bytes.length + SPARE_BYTES);
    this.memory.reserve(this.#end);
    this.memory.bytes.set(bytes, address);
    return address;
  }
}

/** Rows of a table. */
interface Slice {
  readonly table: Table;
  /** Index of its first row in the whole table. */
  readonly from: number;
}

/** A table in slices of at most `SLICE_BYTES`, each valid until the next one. A small table is its own slice. */
export function* slicesOf(table: Table): Generator<Slice, void, undefined> {
  if (table.bytes.length <= SLICE_BYTES) {
    yield { table, from: 0 };
    return;
  }
  for (let from = 0; from < table.count; ) {
    const to = Math.max(from + 1, endOfFitting(table, from, table.count, SLICE_BYTES));
    const range = rowRange(table, from, to);
    yield { table: range, from };
    releaseRange(range);
    from = to;
  }
}

/** For each record: the index of its part, and of its result in the part. */
export interface MatchOrder {
  readonly part: Int32Array;
  readonly result: Int32Array;
}

/**
 * Selects the results that some records need: all parts if they are small, else of each part the rows from the first to
 * the last needed one. Results mostly come in the order of the records, so these are few. Parts with `isWritten` are not
 * cut, because several of their rows may share bytes.
 */
export function neededResults<Part extends Table & { readonly isWritten?: boolean }>(
  parts: readonly Part[],
  { part, result }: MatchOrder,
  count: number,
): { readonly parts: readonly Part[]; readonly result: Int32Array } {
  const isCut = parts.map((table) => table.count > 0 && table.isWritten !== true);
  const bytes = parts.reduce((sum, table, at) => sum + (isCut[at] ? table.bytes.length : 0), 0);
  if (bytes <= SLICE_BYTES) return { parts, result };
  const firsts = parts.map((table, at) => (isCut[at] ? table.count : 0));
  const ends = parts.map(() => 0);
  for (let i = 0; i < count; i++) {
    const at = part[i]!;
    if (result[i]! < firsts[at]!) firsts[at] = result[i]!;
    if (result[i]! >= ends[at]!) ends[at] = result[i]! + 1;
  }
  return {
    parts: parts.map((table, at) =>
      isCut[at] ? { ...table, ...rowRange(table, firsts[at]!, ends[at]!) } : table,
    ),
    result: result.subarray(0, count).map((row, i) => row - firsts[part[i]!]!),
  };
}

/** Frees what `neededResults` made of these parts. */
export function releaseNeeded(needed: readonly Table[], parts: readonly Table[]): void {
  for (const [at, table] of needed.entries()) if (table !== parts[at]) releaseRange(table);
}

/** The rows `from` to `to` (exclusive) as a table that shares the bytes. Its arrays are from `takeNumbers`. */
export function rowRange(table: Table, from: number, to: number): Table {
  const { fields, starts, ends } = table;
  if (to <= from) return { bytes: NO_BYTES, count: 0, fields, starts: NO_OFFSETS, ends: NO_OFFSETS };
  const first = starts[from]!;
  const own = { starts: takeNumbers(to - from), ends: takeNumbers((to - from) * fields) };
  copyShifted(own.starts, 0, starts.subarray(from, to), -first);
  copyShifted(own.ends, 0, ends.subarray(from * fields, to * fields), -first);
  const bytes = table.bytes.subarray(first, first + bytesBetween(table, from, to));
  return { bytes, count: to - from, fields, ...own };
}

/** Frees the arrays of a table from `rowRange`. */
export function releaseRange({ starts, ends }: Table): void {
  for (const array of [starts, ends]) giveBack(array);
}

const NO_BYTES = new Uint8Array(0);
const NO_OFFSETS = new Int32Array(0);

/** Bytes of a table in the memory, including the numbers kept for each of its rows. */
function sizeOf({ bytes, count, fields }: Table): number {
  return bytes.length + (fields + 4) * count * INT_BYTES;
}

/**
 * Returns the array if it has room for `size` elements, otherwise a larger copy. The size at least doubles, so that
 * appending takes linear time.
 */
export function ensureCapacity<T extends Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(
  array: T,
  size: number,
): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}

/**
 * Groups the fields to write into runs of neighbours, because neighbours in a comma CSV can be copied at once.
 *
 * @param fields indexes of fields, in the order to write them; -1 for an empty field.
 * @param delimiter of the records, a byte.
 * @returns the first and the last field of each run, in the form that assembly/field.ts takes.
 */
export function fieldRuns(fields: readonly number[], delimiter: number): Int32Array<ArrayBuffer> {
  const runs: number[] = [];
  for (const field of fields) {
    const isNext = delimiter === COMMA && field > 0 && runs.at(-1) === field - 1;
    if (isNext) runs[runs.length - 1] = field;
    else runs.push(field, field);
  }
  return Int32Array.from(runs);
}

/** Copies offsets to `into[at...]` and adds `shift` to each: the distance by which their bytes have moved. */
export function copyShifted(into: Int32Array, at: number, offsets: Int32Array, shift: number): void {
  for (let i = 0; i < offsets.length; i++) into[at + i] = offsets[i]! + shift;
}
