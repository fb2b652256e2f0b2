/**
 * Matches results to records by the values of some of their fields, in WebAssembly: by a hash with a random key, and by
 * comparing bytes.
 */
import { randomBytes } from 'node:crypto';
import { bytesOf, INT_BYTES, MemoryLayout, slotsFor } from '../../kernel/kernel-memory.js';
import type { TupleMatches, TupleTable } from './match-by-text.js';
import { matchByText } from './match-by-text.js';
import type { TableMemory } from './table-memory.js';

/** What assembly/match.ts exports. */
export interface MatchExports {
  readonly memory: WebAssembly.Memory;
  indexTuples(table: number, work: number): void;
  matchTuples(part: number, table: number, records: number, work: number, unmatched: number): number;
  findUnequal(tables: number, count: number, work: number, out: number): number;
}

/** Numbers of a table as assembly/match.ts reads it. */
const TABLE_INTS = 8;
const SECRET_BYTES = 16;
/** Bytes of a tuple's hash, and of the length after each of its values. */
const HASH_BYTES = 16;
const LENGTH_BYTES = 4;

export class MatchKernel {
  readonly #tables: TableMemory<MatchExports>;
  readonly #secret: Uint8Array;

  /**
   * @param tables may be shared with another kernel that works on the same tables.
   * @param secret the key of the hashes, `SECRET_BYTES` long. A random one makes equal hashes rare for any source.
   */
  constructor(tables: TableMemory<MatchExports>, secret: Uint8Array = randomBytes(SECRET_BYTES)) {
    this.#tables = tables;
    this.#secret = secret;
  }

  /** @param layouts a number for each part; parts with equal numbers have equal columns and the same status. */
  match(records: TupleTable, parts: readonly TupleTable[], layouts: readonly number[]): TupleMatches {
    const all = [records, ...parts];
    const isExact = all.every(({ chosen }) => chosen.every(({ fold }) => fold === null));
    if (!isExact || !this.#tables.canHold(all)) return matchByText(records, parts);
    const tables = this.#tables;
    const addresses = tables.hold(all);
    const descriptions = new Int32Array(all.length * TABLE_INTS);
    for (const [i, { fields, count, chosen }] of all.entries()) {
      const { bytes, starts, ends } = addresses[i]!;
      const chosenAt = tables.load(bytesOf(Int32Array.from(chosen, ({ field }) => field)));
      const layout = layouts[i - 1] ?? 0;
      descriptions.set([bytes, starts, ends, fields, count, chosenAt, chosen.length, layout], i * TABLE_INTS);
    }
    const recordsAt = tables.load(bytesOf(descriptions));
    const partsAt = recordsAt + TABLE_INTS * INT_BYTES;
    const { workAt, part, result, first, out } = this.#prepare(records, parts);
    const { exports } = tables.memory;
    exports.indexTuples(recordsAt, workAt);
    const unmatched = parts.flatMap((table, i) => {
      if (table.count === 0) return [];
      const count = exports.matchTuples(i, partsAt + i * TABLE_INTS * INT_BYTES, recordsAt, workAt, out);
      const found = this.#ints(out, 2 * count);
      return Array.from({ length: count }, (_, at) => ({
        part: i,
        result: found[2 * at]!,
        first: found[2 * at + 1]!,
      }));
    });
    const matches = {
      part: this.#ints(part, records.count),
      result: this.#ints(result, records.count),
      first: this.#ints(first, records.count),
      unmatched,
    };
    if (unmatched.length > 0 || matches.part.includes(-1)) return { ...matches, unequal: [] };
    const unequal = exports.findUnequal(partsAt, records.count, workAt, out);
    return { ...matches, unequal: [...this.#ints(out, unequal)] };
  }

  /** Lays out the memory after the tables. */
  #prepare(records: TupleTable, parts: readonly TupleTable[]) {
    const { count } = records;
    const slots = slotsFor(count);
    const layout = new MemoryLayout(this.#tables.end);
    const workAt = layout.placeInts(10);
    const secretAt = layout.placeBytes(SECRET_BYTES);
    const widest = [records, ...parts].map(
      ({ bytes, chosen }) => bytes.length + chosen.length * LENGTH_BYTES,
    );
    const scratchAt = layout.placeBytes(HASH_BYTES + Math.max(...widest));
    const slotsAt = layout.placeInts(slots);
    const [hashes, first, next, reached, part, result] = [0, 1, 2, 3, 4, 5].map(() =>
      layout.placeInts(count),
    );
    const out = layout.placeInts(2 * Math.max(count, ...parts.map((table) => table.count)));
    const { memory } = this.#tables;
    memory.reserve(layout.end);
    memory.bytes.set(this.#secret, secretAt);
    memory.bytes.fill(0, slotsAt, slotsAt + slots * INT_BYTES);
    const work = [secretAt, scratchAt, slotsAt, slots - 1, hashes!, first!, next!, reached!, part!, result!];
    memory.bytes.set(bytesOf(Int32Array.from(work)), workAt);
    return { workAt, part: part!, result: result!, first: first!, out };
  }

  /** A copy of numbers of the memory. */
  #ints(address: number, length: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.#tables.memory.bytes.buffer, address, length).slice();
  }
}
