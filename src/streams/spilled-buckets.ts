/** Entries that begin with a hash, in buckets that go to a temporary file, however many there are, and are read one by one. */
import { bytesOf, INT_BYTES } from '../kernel/kernel-memory.js';
import { BUCKETS, HashBuckets } from './hash-buckets.js';
import { Spill } from './spill.js';

export class SpilledBuckets {
  readonly #spill: Spill;
  readonly #buckets: HashBuckets;
  /** For each bucket: the position and the bytes of each of its blocks. Plain numbers, because there are many blocks. */
  readonly #blocks = Array.from({ length: BUCKETS }, (): number[] => []);
  #kept = new Int32Array(0);

  /**
   * @param ints see `HashBuckets`.
   * @param folder, keptBytes see `Spill`.
   */
  constructor(ints: number, folder: string, keptBytes?: number) {
    this.#spill = new Spill(folder, keptBytes);
    this.#buckets = new HashBuckets(ints, (bucket, entries) => {
      this.#blocks[bucket]!.push(this.#spill.append(bytesOf(entries)), entries.byteLength);
    });
  }

  add(entries: Int32Array): void {
    this.#buckets.add(entries);
  }

  /** Called once, before buckets are read. After it nothing can be added. */
  end(): void {
    this.#buckets.end();
  }

  /** The entries of a bucket, in the order in which they were added; valid until the next call. */
  bucket(bucket: number): Int32Array {
    const blocks = this.#blocks[bucket]!;
    let bytes = 0;
    for (let at = 0; at < blocks.length; at += 2) bytes += blocks[at + 1]!;
    const count = bytes / INT_BYTES;
    if (this.#kept.length < count) this.#kept = new Int32Array(Math.ceil(count * 1.25));
    let filled = 0;
    for (let at = 0; at < blocks.length; at += 2) {
      this.#spill.read(blocks[at]!, new Uint8Array(this.#kept.buffer, filled, blocks[at + 1]!));
      filled += blocks[at + 1]!;
    }
    return this.#kept.subarray(0, count);
  }

  /** Frees the temporary file. */
  close(): void {
    this.#spill.close();
  }
}
