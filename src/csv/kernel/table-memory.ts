/**
 * Tables in the memory of one kernel, loaded once for all work on them: comparing echoes and writing rows. Invariant:
 * the held tables come first, in the order of the last `hold`; everything else is loaded behind them.
 */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import type { Table } from '../table.js';

/** Tables of this size, and their largest row, which is no larger, fit into a memory of 2 GiB. */
const MAX_TABLE_BYTES = 768 * 1024 * 1024;

/** Addresses of a table's arrays. */
export interface TableAddresses {
  readonly bytes: number;
  readonly starts: number;
  readonly ends: number;
}

interface HeldTable {
  /** The table's array of bytes, by which it is recognized. */
  readonly bytes: Uint8Array;
  readonly addresses: TableAddresses;
  /** Address behind the table. */
  readonly end: number;
}

export class TableMemory<Exports extends { readonly memory: WebAssembly.Memory }> {
  readonly memory = new KernelMemory<Exports>();
  readonly #maxTableBytes: number;
  #held: HeldTable[] = [];
  #end = SPARE_BYTES;

  /** @param maxTableBytes larger tables are worked on without WebAssembly. */
  constructor(maxTableBytes = MAX_TABLE_BYTES) {
    this.#maxTableBytes = maxTableBytes;
  }

  /** Address behind everything that is loaded. */
  get end(): number {
    return this.#end;
  }

  /** Whether there is room for the tables and for what is computed from them. */
  canHold(tables: readonly Table[]): boolean {
    return tables.reduce((sum, table) => sum + sizeOf(table), 0) <= this.#maxTableBytes;
  }

  /**
   * Loads tables. Those with which the last call began are not loaded again: a table with the same `bytes` object must
   * not have changed since.
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

  /** Frees the memory for others. It must not be used after this. */
  release(): void {
    this.#held = [];
    this.memory.release();
  }

  /** Copies bytes behind what is loaded; they stay until the next `hold`. Returns their address. */
  load(bytes: Uint8Array): number {
    const address = this.#end;
    this.#end = aligned(address + bytes.length + SPARE_BYTES);
    this.memory.reserve(this.#end);
    this.memory.bytes.set(bytes, address);
    return address;
  }
}

/** Bytes that a table takes up in the memory, with what is kept for each of its rows. */
function sizeOf({ bytes, count, fields }: Table): number {
  return bytes.length + (fields + 4) * count * INT_BYTES;
}
