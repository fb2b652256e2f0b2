/**
 * Writes the rows of a chunk in WebAssembly: its records' own fields, and the answers of successful parts. An answer
 * of another kind is asked of the caller. Layout of the memory: what is loaded, and behind it the rows, which grow.
 */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { giveBack, takeBuffer } from '../../streams/buffer-pool.js';
import { COMMA } from '../ascii.js';
import {
  type AnswerPart,
  type RowOrder,
  type RowsLayout,
  rowsByField,
  type Table,
  type WriteOther,
} from '../rows-by-field.js';
import { fieldRuns } from './field-runs.js';

export type { AnswerPart, RowOrder, RowsLayout, Table, WriteOther } from '../rows-by-field.js';

/** What assembly/rows.ts exports. */
interface RowsExports {
  readonly memory: WebAssembly.Memory;
  readonly nextRow: WebAssembly.Global;
  readonly rowsEnd: WebAssembly.Global;
  readonly rowsNeed: WebAssembly.Global;
  readonly rowsStop: WebAssembly.Global;
  writeRows(...args: number[]): void;
}

const PART_INTS = 16;
const NO_ROOM = 1;
const NOT_OURS = 2;
/** What is loaded and the largest row, which is no larger, fit into a memory of 2 GiB. */
const MOST_LOADED_BYTES = 768 * 1024 * 1024;
/** Rows that are left in the memory until there are more. */
const ROWS_AT_ONCE_BYTES = 256 * 1024 * 1024;

export class RowsKernel {
  readonly #memory = new KernelMemory<RowsExports>();
  readonly #layout: RowsLayout;
  readonly #mostLoadedBytes: number;
  /** Where what is loaded ends. */
  #loaded = 0;
  #rowsAt = 0;
  #rowsEnd = 0;
  /** Rows that had to make room for others. */
  #pieces: Buffer[] = [];

  /** @param mostLoadedBytes above it the rows are written without WebAssembly. */
  constructor(layout: RowsLayout, mostLoadedBytes = MOST_LOADED_BYTES) {
    this.#layout = layout;
    this.#mostLoadedBytes = mostLoadedBytes;
  }

  /**
   * Writes a row for each record.
   * @returns all of them, in a buffer of the pool.
   * @throws ConfigError `MEMORY_LIMIT` where a row of a column that is chosen many times does not fit.
   */
  write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): Buffer {
    const loaded = sizeOf(records) + parts.reduce((sum, part) => sum + sizeOf(part), 0);
    if (loaded > this.#mostLoadedBytes) {
      return joined([...rowsByField(this.#layout, records, parts, order, writeOther)]);
    }
    this.#write(records, parts, order, writeOther);
    this.#pieces.push(this.#take());
    return joined(this.#pieces.splice(0));
  }

  #write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): void {
    const { chosen, delimiter, numbered } = this.#layout;
    this.#loaded = SPARE_BYTES;
    this.#pieces = [];
    const runs = fieldRuns(chosen, delimiter);
    const chosenAt = this.#load(bytesOf(runs));
    const own = this.#loadTable(records);
    const partsAt = this.#loadParts(parts);
    const partAt = this.#load(bytesOf(order.part));
    const resultAt = this.#load(bytesOf(order.result));
    const numbersAt = numbered ? this.#load(bytesOf(order.numbers)) : 0;
    this.#rowsAt = this.#loaded;
    this.#rowsEnd = this.#rowsAt;
    this.#reserveRoom(Math.min(records.bytes.length * 2, ROWS_AT_ONCE_BYTES));

    const { exports } = this.#memory;
    for (let row = 0; row < records.count; ) {
      // Named one by one: the numbers of each call would otherwise be gathered in an array, which costs more.
      exports.writeRows(
        row,
        records.count,
        own.bytes,
        own.starts,
        own.ends,
        records.fields,
        delimiter,
        chosenAt,
        runs.length / 2,
        partsAt,
        partAt,
        resultAt,
        numbersAt,
        this.#rowsEnd,
        this.#memory.bytes.length - SPARE_BYTES,
      );
      row = exports.nextRow.value;
      this.#rowsEnd = exports.rowsEnd.value;
      if (exports.rowsStop.value === NO_ROOM) this.#makeRoom(exports.rowsNeed.value);
      if (exports.rowsStop.value !== NOT_OURS) continue;
      this.#append(writeOther(row));
      row += 1;
    }
  }

  #append(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#memory.bytes.set(bytes, this.#rowsEnd);
    this.#rowsEnd += bytes.length;
  }

  /** Room for so many bytes more: at first it is doubled, but then the rows so far are taken out for it. */
  #makeRoom(size: number): void {
    const missing = this.#rowsEnd + size + 2 * SPARE_BYTES - this.#memory.bytes.length;
    if (missing <= 0) return;
    const held = this.#rowsEnd - this.#rowsAt;
    if (held > 0 && held + size > ROWS_AT_ONCE_BYTES) {
      this.#pieces.push(this.#take());
      this.#reserveRoom(size);
    } else this.#reserveRoom(Math.max(size, held));
  }

  #reserveRoom(size: number): void {
    this.#memory.reserve(this.#rowsEnd + size + 2 * SPARE_BYTES);
  }

  /** The rows in the memory, in a buffer of their own; there are none after. */
  #take(): Buffer {
    const rows = this.#memory.bytes.subarray(this.#rowsAt, this.#rowsEnd);
    const taken = takeBuffer(rows.length);
    taken.set(rows);
    this.#rowsEnd = this.#rowsAt;
    return taken;
  }

  #loadParts(parts: readonly AnswerPart[]): number {
    const described = new Int32Array(parts.length * PART_INTS);
    for (const [i, part] of parts.entries()) {
      const at = part.answers === null ? { bytes: 0, starts: 0, ends: 0 } : this.#loadTable(part);
      const runs = fieldRuns(part.answers ?? [], COMMA);
      const answers = part.answers === null ? 0 : this.#load(bytesOf(runs));
      const around = [this.#load(part.lead), part.lead.length, this.#load(part.tail), part.tail.length];
      const numbers = [at.bytes, at.starts, at.ends, part.fields, answers, runs.length / 2, ...around];
      described.set(numbers, i * PART_INTS);
    }
    return this.#load(bytesOf(described));
  }

  #loadTable({ bytes, count, fields, starts, ends }: Table) {
    return {
      bytes: this.#load(bytes),
      starts: this.#load(bytesOf(starts.subarray(0, count))),
      ends: this.#load(bytesOf(ends.subarray(0, count * fields))),
    };
  }

  /** Copies bytes into the memory; returns their address. */
  #load(bytes: Uint8Array): number {
    const at = this.#loaded;
    this.#loaded = aligned(at + bytes.length + SPARE_BYTES);
    this.#memory.reserve(this.#loaded);
    this.#memory.bytes.set(bytes, at);
    return at;
  }
}

/** Bytes that a table takes up in the memory, and what is kept for each of its records. */
function sizeOf({ bytes, count, fields }: Table): number {
  return bytes.length + (fields + 4) * count * INT_BYTES;
}

/** One buffer of the pool; that of a single piece is given on. */
function joined(pieces: readonly Buffer[]): Buffer {
  if (pieces.length === 1) return pieces[0]!;
  const all = takeBuffer(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
    giveBack(piece);
  }
  return all;
}
