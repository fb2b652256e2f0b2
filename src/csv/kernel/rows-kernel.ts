/**
 * Writes the rows of a chunk in WebAssembly: its records' own fields, and the answers of their results. The caller
 * writes other kinds of answers. Layout of the memory: first the loaded data, then the rows, which grow.
 */
import { bytesOf, type KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { giveBack, takeBuffer } from '../../streams/large-buffers.js';
import { COMMA } from '../bytes.js';
import type { Table } from '../table.js';
import {
  type AnswerPart,
  type RowOrder,
  type RowsLayout,
  rowsByField,
  type WriteOther,
} from './rows-by-field.js';
import { fieldRuns, neededResults, releaseNeeded, type TableAddresses, TableMemory } from './table-memory.js';

/** What assembly/rows.ts exports. */
export interface RowsExports {
  readonly nextRow: WebAssembly.Global;
  readonly rowsEnd: WebAssembly.Global;
  readonly rowsNeed: WebAssembly.Global;
  readonly rowsStop: WebAssembly.Global;
  writeRows(...args: number[]): void;
}

/** Numbers of a part, as assembly/rows.ts reads them. */
const PART_INTS = 16;
/** The delimiter that means fields that are copied unchanged, see assembly/field.ts. */
const AS_IS = 0;
/** Values of `rowsStop`: no room for the next row; the caller has to write the answer of the next row. */
const NO_ROOM = 1;
const OTHER_ANSWER = 2;
/** The most bytes of rows in the memory. Before there are more, the rows are moved out. */
const MAX_HELD_ROWS_BYTES = 256 * 1024 * 1024;

export class RowsKernel {
  readonly #tables: TableMemory<RowsExports>;
  readonly #memory: KernelMemory<RowsExports>;
  readonly #layout: RowsLayout;
  /** Addresses of the rows: where they begin and end. */
  #rowsAt = 0;
  #rowsEnd = 0;
  /** Rows that were moved out to make room. */
  #pieces: Buffer[] = [];

  /** @param tables may be shared with another kernel that works on the same tables. */
  constructor(layout: RowsLayout, tables = new TableMemory<RowsExports>()) {
    this.#layout = layout;
    this.#tables = tables;
    this.#memory = tables.memory;
  }

  /**
   * Writes a row for each record.
   *
   * @returns all rows, in a buffer of `takeBuffer`.
   * @throws ConfigError `MEMORY_LIMIT` when a row does not fit, because a large column is chosen many times.
   */
  write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): Buffer {
    const needed = neededResults(parts, order, records.count);
    if (!this.#tables.canHold([records, ...needed.parts])) {
      return concatenated([...rowsByField(this.#layout, records, parts, order, writeOther)]);
    }
    this.#write(records, needed.parts, { ...order, result: needed.result }, writeOther);
    releaseNeeded(needed.parts, parts);
    this.#pieces.push(this.#take());
    return concatenated(this.#pieces.splice(0));
  }

  #write(records: Table, parts: readonly AnswerPart[], order: RowOrder, writeOther: WriteOther): void {
    const { chosen, delimiter, numbered } = this.#layout;
    const tables = this.#tables;
    this.#pieces = [];
    // The records come last, so that parts stay loaded, which are often the same in several calls. Sources with different
    // lineage may share a table.
    const all = [...parts, records];
    const held = [...new Map(all.map((table) => [table.bytes, table])).values()];
    const addresses = tables.hold(held);
    const addressOf = new Map(held.map(({ bytes }, i) => [bytes, addresses[i]!]));
    const own = addressOf.get(records.bytes)!;
    const runs = fieldRuns(chosen, delimiter);
    const chosenAt = tables.load(bytesOf(runs));
    const partsAt = this.#loadParts(
      parts,
      parts.map(({ bytes }) => addressOf.get(bytes)!),
    );
    const partAt = tables.load(bytesOf(order.part));
    const resultAt = tables.load(bytesOf(order.result));
    const numbersAt = numbered ? tables.load(bytesOf(order.numbers)) : 0;
    this.#rowsAt = tables.end;
    this.#rowsEnd = this.#rowsAt;
    this.#reserveRoom(Math.min(records.bytes.length * 2, MAX_HELD_ROWS_BYTES));

    const { exports } = this.#memory;
    for (let row = 0; row < records.count; ) {
      // Not spread from an array, because creating the array costs more.
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
      if (exports.rowsStop.value !== OTHER_ANSWER) continue;
      this.#append(writeOther(row));
      row += 1;
    }
  }

  #append(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#memory.bytes.set(bytes, this.#rowsEnd);
    this.#rowsEnd += bytes.length;
  }

  /** Makes room for `size` more bytes: doubles the room up to a limit, then moves out the rows written so far. */
  #makeRoom(size: number): void {
    const missing = this.#rowsEnd + size + 2 * SPARE_BYTES - this.#memory.bytes.length;
    if (missing <= 0) return;
    const held = this.#rowsEnd - this.#rowsAt;
    if (held > 0 && held + size > MAX_HELD_ROWS_BYTES) {
      this.#pieces.push(this.#take());
      this.#reserveRoom(size);
    } else this.#reserveRoom(Math.max(size, held));
  }

  #reserveRoom(size: number): void {
    this.#memory.reserve(this.#rowsEnd + size + 2 * SPARE_BYTES);
  }

  /** Moves the rows out of the memory into a buffer of `takeBuffer`. */
  #take(): Buffer {
    const rows = this.#memory.bytes.subarray(this.#rowsAt, this.#rowsEnd);
    const taken = takeBuffer(rows.length);
    taken.set(rows);
    this.#rowsEnd = this.#rowsAt;
    return taken;
  }

  #loadParts(parts: readonly AnswerPart[], tables: readonly TableAddresses[]): number {
    const descriptions = new Int32Array(parts.length * PART_INTS);
    for (const [i, part] of parts.entries()) {
      const at = tables[i]!;
      const runs = fieldRuns(part.answers ?? [], COMMA);
      const answers = part.answers === null ? 0 : this.#tables.load(bytesOf(runs));
      const lead = [this.#tables.load(part.lead), part.lead.length];
      const tail = [this.#tables.load(part.tail), part.tail.length];
      const end = [this.#tables.load(part.end), part.end.length];
      const addresses = [at.bytes, at.starts, at.ends];
      const delimiter = part.isWritten ? AS_IS : COMMA;
      const texts = [...lead, ...tail, ...end];
      const numbers = [...addresses, part.fields, answers, runs.length / 2, ...texts, delimiter];
      descriptions.set(numbers, i * PART_INTS);
    }
    return this.#tables.load(bytesOf(descriptions));
  }
}

/** All pieces in one buffer of `takeBuffer`. Returns a single piece unchanged. */
function concatenated(pieces: readonly Buffer[]): Buffer {
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
