/**
 * Writes the rows of a chunk in WebAssembly: its records' own fields, and the answers of successful parts. An answer
 * of another kind is asked of the caller. Layout of the memory: what is loaded, and behind it the rows, which grow.
 */
import { bytesOf, type KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { giveBack, takeBuffer } from '../../streams/buffer-pool.js';
import { COMMA } from '../bytes.js';
import {
  type AnswerPart,
  type RowOrder,
  type RowsLayout,
  rowsByField,
  type WriteOther,
} from './rows-by-field.js';
import { fieldRuns, type Table, TableMemory, type TablePlace } from './table-memory.js';

export type { AnswerPart, RowOrder, RowsLayout, WriteOther } from './rows-by-field.js';

/** What assembly/rows.ts exports. */
export interface RowsExports {
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
/** Rows that are left in the memory until there are more. */
const ROWS_AT_ONCE_BYTES = 256 * 1024 * 1024;

export class RowsKernel {
  readonly #tables: TableMemory<RowsExports>;
  readonly #memory: KernelMemory<RowsExports>;
  readonly #layout: RowsLayout;
  #rowsAt = 0;
  #rowsEnd = 0;
  /** Rows that had to make room for others. */
  #pieces: Buffer[] = [];

  /** @param tables shared with whoever works on the same ones. */
  constructor(layout: RowsLayout, tables = new TableMemory<RowsExports>()) {
    this.#layout = layout;
    this.#tables = tables;
    this.#memory = tables.memory;
  }

  /**
   * Writes a row for each record.
   * @returns all of them, in a buffer of the pool.
   * @throws ConfigError `MEMORY_LIMIT` where a row of a column that is chosen many times does not fit.
   */
  write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): Buffer {
    if (!this.#tables.canHold([records, ...parts])) {
      return joined([...rowsByField(this.#layout, records, parts, order, writeOther)]);
    }
    this.#write(records, parts, order, writeOther);
    this.#pieces.push(this.#take());
    return joined(this.#pieces.splice(0));
  }

  #write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): void {
    const { chosen, delimiter, numbered } = this.#layout;
    const tables = this.#tables;
    this.#pieces = [];
    const [own, ...places] = tables.hold([records, ...parts]);
    const runs = fieldRuns(chosen, delimiter);
    const chosenAt = tables.load(bytesOf(runs));
    const partsAt = this.#loadParts(parts, places);
    const partAt = tables.load(bytesOf(order.part));
    const resultAt = tables.load(bytesOf(order.result));
    const numbersAt = numbered ? tables.load(bytesOf(order.numbers)) : 0;
    this.#rowsAt = tables.end;
    this.#rowsEnd = this.#rowsAt;
    this.#reserveRoom(Math.min(records.bytes.length * 2, ROWS_AT_ONCE_BYTES));

    const { exports } = this.#memory;
    for (let row = 0; row < records.count; ) {
      // Named one by one: the numbers of each call would otherwise be gathered in an array, which costs more.
      exports.writeRows(
        row,
        records.count,
        own!.bytes,
        own!.starts,
        own!.ends,
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

  #loadParts(parts: readonly AnswerPart[], places: readonly TablePlace[]): number {
    const described = new Int32Array(parts.length * PART_INTS);
    for (const [i, part] of parts.entries()) {
      const at = places[i]!;
      const runs = fieldRuns(part.answers ?? [], COMMA);
      const answers = part.answers === null ? 0 : this.#tables.load(bytesOf(runs));
      const lead = [this.#tables.load(part.lead), part.lead.length];
      const tail = [this.#tables.load(part.tail), part.tail.length];
      const numbers = [at.bytes, at.starts, at.ends, part.fields, answers, runs.length / 2, ...lead, ...tail];
      described.set(numbers, i * PART_INTS);
    }
    return this.#tables.load(bytesOf(described));
  }
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
