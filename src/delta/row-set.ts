/** A set of rows by number, from 0: one bit for each. */
export class RowSet {
  /** How many rows it holds. */
  count = 0;
  readonly #bits: Uint8Array;

  /** @param bits by the numbers from 1; the array then belongs to the set. */
  constructor(rows: number, bits = new Uint8Array(Math.ceil((rows + 1) / 8))) {
    this.#bits = bits;
    for (const byte of bits) this.count += BITS_SET[byte]!;
  }

  has(row: number): boolean {
    return (this.#bits[(row + 1) >> 3]! & (1 << ((row + 1) & 7))) !== 0;
  }

  add(row: number): void {
    if (this.has(row)) return;
    this.#bits[(row + 1) >> 3]! |= 1 << ((row + 1) & 7);
    this.count++;
  }
}

/** How many bits of a byte are set. */
const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);
