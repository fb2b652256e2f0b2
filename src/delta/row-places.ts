/** Where the rows of an output are, so that some of them can be read again without reading the others. */
import { closeSync, openSync } from 'node:fs';
import type { Batch } from '../csv/table.js';
import { bytesOf } from '../kernel/kernel-memory.js';
import { readAll } from '../streams/read-at.js';
import { Spill } from '../streams/spill.js';

/** Bytes of the places that are kept in memory. */
const KEPT_BYTES = 1024 * 1024;

/** Consecutive rows. */
interface Block {
  /** Number of the first row, from 0. */
  readonly first: number;
  readonly count: number;
  /** Where the first row begins in the output. */
  readonly offset: number;
  /** From there to the end of the last row. */
  readonly bytes: number;
  /**
   * Position in the temporary file of the ends of its rows, which count from `offset`. A row begins after the line feed
   * of the one before.
   */
  readonly ends: number;
}

/** Consecutive rows that are read again. */
interface RowsAgain {
  /** Number of the first row, from 0. */
  readonly first: number;
  readonly count: number;
  readonly bytes: Uint8Array;
  /** Where each row ends in `bytes`: the first one begins at 0, each other one after the line feed of the one before. */
  readonly ends: Int32Array;
}

export class RowPlaces {
  readonly #path: string;
  readonly #spill: Spill;
  readonly #blocks: Block[] = [];
  #rows = 0;
  #file: number | undefined;
  /** The block of the last `row`: rows that are read one after the other are mostly in one block. */
  #last: { readonly block: number; readonly ends: Int32Array } | undefined;

  /**
   * @param path of the output.
   * @param folder takes a temporary file, so that memory does not grow with the number of rows.
   */
  constructor(path: string, folder: string) {
    this.#path = path;
    this.#spill = new Spill(folder, KEPT_BYTES);
  }

  /** Adds the next rows. All rows must be added, in order. */
  add({ base, starts, ends, fields, count }: Batch): void {
    const start = starts[0]!;
    const places = new Int32Array(count);
    for (let row = 0; row < count; row++) places[row] = ends[(row + 1) * fields - 1]! - start;
    const place = {
      offset: base + start,
      bytes: places[count - 1]!,
      ends: this.#spill.append(bytesOf(places)),
    };
    this.#blocks.push({ first: this.#rows, count, ...place });
    this.#rows += count;
  }

  /** Reads the rows again, many at once, and skips ranges without a wanted row. Valid until the next range. */
  *blocks(isWanted: (row: number) => boolean): Generator<RowsAgain> {
    this.#file ??= openSync(this.#path, 'r');
    let content = Buffer.alloc(0);
    let ends = new Int32Array(0);
    for (const { first, count, offset, bytes, ends: endsAt } of this.#blocks) {
      let from = first;
      while (from < first + count && !isWanted(from)) from += 1;
      if (from === first + count) continue;
      if (content.length < bytes) content = Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.25));
      if (ends.length < count) ends = new Int32Array(Math.ceil(count * 1.25));
      readAll(this.#file, content.subarray(0, bytes), offset);
      this.#spill.read(endsAt, bytesOf(ends.subarray(0, count)));
      yield { first, count, bytes: content, ends };
    }
  }

  /** A row without its line feed, valid until the next call. Rows may be asked for in any order. */
  row(number: number): Uint8Array {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#blocks[middle]!.first <= number) low = middle;
      else high = middle - 1;
    }
    const { first, count, offset, ends: endsAt } = this.#blocks[low]!;
    if (this.#last?.block !== low) {
      const ends = new Int32Array(count);
      this.#spill.read(endsAt, bytesOf(ends));
      this.#last = { block: low, ends };
    }
    const { ends } = this.#last;
    const at = number - first;
    const from = at === 0 ? 0 : ends[at - 1]! + 1;
    const bytes = Buffer.allocUnsafe(ends[at]! - from);
    this.#file ??= openSync(this.#path, 'r');
    readAll(this.#file, bytes, offset + from);
    return bytes;
  }

  /** Closes the output and the temporary file. */
  close(): void {
    this.#spill.close();
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
