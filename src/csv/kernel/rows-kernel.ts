/**
 * Writes the rows of a chunk in WebAssembly: its records' own fields, and the answers of successful parts. An answer
 * of another kind is asked of the caller. Layout of the memory: what is loaded, and behind it the rows, which grow.
 */
import { bytesOf, type KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { COMMA } from '../ascii.js';
import { fieldRuns } from './field-runs.js';
import { type Table, TableMemory, type TablePlace } from './table-memory.js';

/** What assembly/rows.ts exports. */
export interface RowsExports {
  readonly memory: WebAssembly.Memory;
  readonly nextRow: WebAssembly.Global;
  readonly rowsEnd: WebAssembly.Global;
  readonly rowsStop: WebAssembly.Global;
  writeRows(...args: number[]): void;
}

/** A part from which answers are taken. */
export interface AnswerPart extends Table {
  /** Places of the answers in a result, -1 for one that it has not; null: the caller writes them. */
  readonly answers: readonly number[] | null;
  /** What stands between a record's own fields and its answers. */
  readonly lead: Uint8Array;
  /** What stands behind the answers of each row. */
  readonly tail: Uint8Array;
}

export interface RowsLayout {
  /** Places of the chosen fields of a record; null: it is copied as it stands. */
  readonly chosen: readonly number[] | null;
  /** The source's delimiter, a byte. */
  readonly delimiter: number;
  /** Whether each record's number ends its row. */
  readonly numbered: boolean;
}

/** For each record which part, which result in it, and its number. */
export interface RowOrder {
  readonly part: Int32Array;
  readonly result: Int32Array;
  readonly numbers: Int32Array;
}

const PART_INTS = 16;
const NO_ROOM = 1;
const NOT_OURS = 2;

export class RowsKernel {
  readonly #tables: TableMemory<RowsExports>;
  readonly #memory: KernelMemory<RowsExports>;
  readonly #layout: RowsLayout;
  #rowsAt = 0;
  #rowsEnd = 0;

  /** @param tables shared with whoever works on the same ones. */
  constructor(layout: RowsLayout, tables = new TableMemory<RowsExports>()) {
    this.#layout = layout;
    this.#tables = tables;
    this.#memory = tables.memory;
  }

  /** The rows of the last call; valid until the next. */
  get rows(): Buffer {
    return this.#memory.bytes.subarray(this.#rowsAt, this.#rowsEnd);
  }

  /**
   * Writes a row for each record.
   * @param writeOther gives what stands behind the own fields of a record whose part has no plain answers, its line
   *   feed included.
   */
  write(
    records: Table,
    parts: readonly AnswerPart[],
    order: RowOrder,
    writeOther: (record: number) => Uint8Array,
  ): void {
    const { chosen, delimiter, numbered } = this.#layout;
    const tables = this.#tables;
    const [own, ...places] = tables.hold([records, ...parts]);
    const runs = fieldRuns(chosen ?? [], delimiter);
    const chosenAt = tables.load(bytesOf(runs));
    const partsAt = this.#loadParts(parts, places);
    const partAt = tables.load(bytesOf(order.part));
    const resultAt = tables.load(bytesOf(order.result));
    const numbersAt = numbered ? tables.load(bytesOf(order.numbers)) : 0;
    this.#rowsAt = tables.end;
    this.#rowsEnd = this.#rowsAt;
    this.#reserveRoom(records.bytes.length * 2);

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
        chosen === null ? -1 : runs.length / 2,
        partsAt,
        partAt,
        resultAt,
        numbersAt,
        this.#rowsEnd,
        this.#memory.bytes.length - SPARE_BYTES,
      );
      row = exports.nextRow.value;
      this.#rowsEnd = exports.rowsEnd.value;
      if (exports.rowsStop.value === NO_ROOM) this.#reserveRoom(this.#memory.bytes.length);
      if (exports.rowsStop.value !== NOT_OURS) continue;
      this.#append(writeOther(row));
      row += 1;
    }
  }

  #append(bytes: Uint8Array): void {
    this.#reserveRoom(bytes.length);
    this.#memory.bytes.set(bytes, this.#rowsEnd);
    this.#rowsEnd += bytes.length;
  }

  #reserveRoom(size: number): void {
    this.#memory.reserve(this.#rowsEnd + size + 2 * SPARE_BYTES);
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
