/** The join of one chunk: for each of its records, in the source's order, the one result that belongs to it. */
import { MismatchError } from '../errors.js';
import type { PartTable } from './part-table.js';

export interface Joined {
  readonly parts: readonly PartTable[];
  /** [records of the chunk] index into `parts`. */
  readonly part: Int32Array;
  /** [records of the chunk] number of the result in its part, from 0. */
  readonly result: Int32Array;
  /** Places of records whose equal tuples have different results, so that which got which is not known. */
  readonly indistinct: ReadonlySet<number>;
}

/** Collects what does not fit, so that one error names the extent of it. */
export class Misfits {
  readonly #examples = new Map<string, string[]>();
  #count = 0;

  add(kind: 'missing' | 'doubled' | 'strange', example: string): void {
    this.#count += 1;
    const examples = this.#examples.get(kind) ?? [];
    if (examples.length < 3) examples.push(example);
    this.#examples.set(kind, examples);
  }

  /** @throws MismatchError when anything was added. */
  check(): void {
    const error = this.error();
    if (error !== undefined) throw error;
  }

  error(): MismatchError | undefined {
    if (this.#count === 0) return undefined;
    const told = [...this.#examples].map(([kind, examples]) => `${kind}: ${examples.join(', ')}`);
    return new MismatchError(
      'RESULTS_DO_NOT_MATCH',
      `${this.#count} results do not match the records that were sent (${told.join('; ')})`,
      { facts: { misfits: this.#count } },
    );
  }
}
