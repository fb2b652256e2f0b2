/** The outcome of joining a chunk: one result for each record, or an error that names the mismatches. */
import { MismatchError } from '../errors.js';
import type { PartTable } from './part-table.js';

export interface Joined {
  readonly parts: readonly PartTable[];
  /** Index into `parts`, for each record of the chunk. */
  readonly part: Int32Array;
  /** Index of the result in its part, for each record of the chunk. */
  readonly result: Int32Array;
  /** Indexes of records that were sent with equal values but have different results, so that results may be swapped. */
  readonly indistinct: ReadonlySet<number>;
}

/** Which result belongs to each record. */
export type Matches = Pick<Joined, 'parts' | 'part' | 'result'>;

/** Collects mismatches for one error, which counts them and shows examples. */
export class Mismatches {
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
    const details = [...this.#examples].map(([kind, examples]) => `${kind}: ${examples.join(', ')}`);
    return new MismatchError(
      'RESULTS_DO_NOT_MATCH',
      `${this.#count} results do not match the records that were sent (${details.join('; ')})`,
      // The name in the JSON form of errors: programs read it.
      { facts: { misfits: this.#count } },
    );
  }
}
