/**
 * Records and results in the memory of one kernel, loaded once for all that is done with them: comparing what came
 * back, and writing rows. Invariant: tables stand first, in the order of the last call; behind them comes the rest.
 */
import {
  aligned,
  bytesOf,
  INT_BYTES,
  KernelMemory,
  SPARE_BYTES,
  sharedMemory,
} from '../../kernel/kernel-memory.js';
import { COMMA } from '../bytes.js';

/** What is loaded and the largest row of it, which is no larger, fit into a memory of 2 GiB. */
const MOST_LOADED_BYTES = 768 * 1024 * 1024;

/** Addresses of a table's arrays. */
export interface TablePlace {
  readonly bytes: number;
  readonly starts: number;
  readonly ends: number;
}

interface Held {
  readonly bytes: Uint8Array;
  readonly place: TablePlace;
  /** Where the next may stand. */
  readonly end: number;
}

export class TableMemory<Exports extends { readonly memory: WebAssembly.Memory }> {
  readonly memory = new KernelMemory<Exports>();
  readonly #mostBytes: number;
  #held: Held[] = [];
  #loaded = SPARE_BYTES;

  /** @param mostBytes what larger tables hold is worked on without WebAssembly. */
  constructor(mostBytes = MOST_LOADED_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Where what is loaded ends. */
  get end(): number {
    return this.#loaded;
  }

  /** Whether there is room for tables and for what is worked out of them. */
  canHold(tables: readonly Table[]): boolean {
    return tables.reduce((sum, table) => sum + sizeOf(table), 0) <= this.#mostBytes;
  }

  /**
   * Loads tables. Those that the last call began with are there already: a table's array of bytes, the same object,
   * must not have changed since.
   */
  hold(tables: readonly Table[]): readonly TablePlace[] {
    let same = 0;
    while (same < tables.length && this.#held[same]?.bytes === tables[same]!.bytes) same++;
    this.#held.length = same;
    this.#loaded = this.#held.at(-1)?.end ?? SPARE_BYTES;
    for (const { bytes, count, fields, starts, ends } of tables.slice(same)) {
      const place = {
        bytes: this.load(bytes),
        starts: this.load(bytesOf(starts.subarray(0, count))),
        ends: this.load(bytesOf(ends.subarray(0, count * fields))),
      };
      this.#held.push({ bytes, place, end: this.#loaded });
    }
    return this.#held.map(({ place }) => place);
  }

  /** Leaves the memory to the next who needs one: whoever calls this uses it no more. */
  release(): void {
    this.#held = [];
    this.memory.release();
  }

  /** Copies bytes behind what is loaded, until tables are held again; returns their address. */
  load(bytes: Uint8Array): number {
    const at = this.#loaded;
    this.#loaded = aligned(at + bytes.length + SPARE_BYTES);
    this.memory.reserve(this.#loaded);
    this.memory.bytes.set(bytes, at);
    return at;
  }
}

/** Bytes that a table takes up in the memory, and what is kept for each of its records. */
function sizeOf({ bytes, count, fields }: Table): number {
  return bytes.length + (fields + 4) * count * INT_BYTES;
}

// Records or results as bytes with the places of their fields: what rows are written from and echoes are compared in.

/** Records or results: bytes, and where their fields stand, as in a Batch. */
export interface Table {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Fields of each. */
  readonly fields: number;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

// Fields to write, as runs of neighbours: what stands side by side in a comma CSV is copied at once.

/**
 * @param fields places in a record, in the order to be written in; -1 for one that is to be empty.
 * @param delimiter of the record, a byte.
 * @returns the first and the last field of each run, as assembly/field.ts takes them.
 */
export function fieldRuns(fields: readonly number[], delimiter: number): Int32Array<ArrayBuffer> {
  const runs: number[] = [];
  for (const field of fields) {
    const follows = delimiter === COMMA && field > 0 && runs.at(-1) === field - 1;
    if (follows) runs[runs.length - 1] = field;
    else runs.push(field, field);
  }
  return Int32Array.from(runs);
}

// Copies places into a larger array, moved; in WebAssembly, which moves four at once.

/** What assembly/move.ts exports. */
interface MoveExports {
  readonly memory: WebAssembly.Memory;
  movePlaces(at: number, count: number, shift: number): void;
}

/** Places moved by one call: they stay in the processor's cache. */
const WINDOW_PLACES = 4096;

const kernelMemory = sharedMemory<MoveExports>(WINDOW_PLACES * INT_BYTES + SPARE_BYTES);

/** Writes places into a larger array, each moved by as many bytes as what it points into. */
export function addShifted(into: Int32Array, at: number, places: Int32Array, shift: number): void {
  const { bytes, exports } = kernelMemory();
  const target = bytesOf(into);
  for (let from = 0; from < places.length; from += WINDOW_PLACES) {
    const window = places.subarray(from, from + WINDOW_PLACES);
    bytes.set(bytesOf(window));
    exports.movePlaces(0, window.length, shift);
    target.set(bytes.subarray(0, window.byteLength), (at + from) * INT_BYTES);
  }
}
