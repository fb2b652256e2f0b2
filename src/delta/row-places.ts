/** Where the rows of an output are, so that some of them can be read again without a look at the others. */
import { closeSync, openSync } from 'node:fs';
import type { Batch } from '../csv/table.js';
import { readAll, Spill } from '../streams/spill.js';

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
  /** Reads where each row ends, counted from `offset`. A row begins behind the line feed of the one before. */
  readonly readEnds: (into: Uint8Array) => void;
}

export class RowPlaces {
  readonly #path: string;
  readonly #spill: Spill;
  readonly #blocks: Block[] = [];
  #rows = 0;

  /**
   * @param path of the output.
   * @param folder takes a temporary file, so that memory does not grow with the number of rows.
   */
  constructor(path: string, folder: string) {
    this.#path = path;
    this.#spill = new Spill(folder, KEPT_BYTES);
  }

  /** Adds the next rows: all of them, one behind the other. */
  add({ base, starts, ends, fields, count }: Batch): void {
    const start = starts[0]!;
    const places = new Int32Array(count);
    for (let row = 0; row < count; row++) places[row] = ends[(row + 1) * fields - 1]! - start;
    const readEnds = this.#spill.append(new Uint8Array(places.buffer));
    const place = { offset: base + start, bytes: places[count - 1]! };
    this.#blocks.push({ first: this.#rows, count, ...place, readEnds });
    this.#rows += count;
  }

  /** The rows that are wanted, in their order, without their line feeds; the bytes are valid until the next one. */
  *rows(isWanted: (row: number) => boolean): Generator<{ readonly row: number; readonly bytes: Uint8Array }> {
    const file = openSync(this.#path, 'r');
    try {
      let content = Buffer.alloc(0);
      let ends = new Int32Array(0);
      for (const { first, count, offset, bytes, readEnds } of this.#blocks) {
        let isRead = false;
        for (let at = 0; at < count; at++) {
          if (!isWanted(first + at)) continue;
          if (!isRead) {
            if (content.length < bytes) content = Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.25));
            if (ends.length < count) ends = new Int32Array(Math.ceil(count * 1.25));
            readAll(file, content.subarray(0, bytes), offset);
            readEnds(new Uint8Array(ends.buffer, 0, count * ends.BYTES_PER_ELEMENT));
            isRead = true;
          }
          const from = at === 0 ? 0 : ends[at - 1]! + 1;
          yield { row: first + at, bytes: content.subarray(from, ends[at]!) };
        }
      }
    } finally {
      closeSync(file);
    }
  }

  /** Frees the temporary file. */
  close(): void {
    this.#spill.close();
  }
}
