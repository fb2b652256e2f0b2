/** What the tests use of the fuzzing proof. */

export interface FuzzTotals {
  readonly scan: number;
  readonly file: number;
  readonly job: number;
  readonly records: number;
  readonly bytes: number;
}

export function runFuzz(seed: number, goesOn: (totals: FuzzTotals) => boolean): Promise<FuzzTotals>;
