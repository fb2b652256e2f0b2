/** Collects the good records that several scans of one window find. */

/** Records that one scan of a window has found. */
export interface Found {
  /** Where they begin in the window: `[count]`. The arrays may be longer than needed. */
  readonly starts: Int32Array;
  /** Where their fields end, as in a `Table`. */
  readonly ends: Int32Array;
  readonly count: number;
}

export interface NumberedRecords extends Found {
  /** Their numbers in the source, ascending. */
  readonly numbers: Int32Array;
}

export class KeptRecords {
  #count = 0;
  readonly #fields: number;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #numbers: Int32Array;

  /** @param capacity how many records can be kept. */
  constructor(capacity: number, fields: number) {
    this.#fields = fields;
    this.#starts = new Int32Array(capacity);
    this.#ends = new Int32Array(capacity * fields);
    this.#numbers = new Int32Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** Whether there is room for `more` records. */
  hasRoom(more: number): boolean {
    return this.#count + more <= this.#numbers.length;
  }

  /** Keeps a record. @param row its index among those found. */
  add({ starts, ends }: Found, row: number, number: number): void {
    const fields = this.#fields;
    const at = this.#count++;
    this.#numbers[at] = number;
    this.#starts[at] = starts[row]!;
    for (let field = 0; field < fields; field++)
      this.#ends[at * fields + field] = ends[row * fields + field]!;
  }

  /** Takes out the kept records; valid until the next one is added. */
  take(): NumberedRecords {
    const count = this.#count;
    this.#count = 0;
    return { starts: this.#starts, ends: this.#ends, numbers: this.#numbers, count };
  }
}
