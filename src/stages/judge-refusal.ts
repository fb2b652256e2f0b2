/**
 * What a refusal of a chunk means: it is halved until the records that the service will not have stand alone.
 * Invariant: nothing is held against single records before the service has accepted anything of the run, for
 * until then it may refuse whatever we send.
 */

/** What is known when a refusal is judged. */
export interface Refusal {
  /** HTTP status of the refusing reply. */
  readonly status: unknown;
  /** Records of the refused chunk. */
  readonly records: number;
  /** Uploads of the run that were accepted. */
  readonly accepted: number;
  /** Chunks of the run that were split. */
  readonly splits: number;
}

/** `nothing-accepted`, `too-many` and `final` stop the run. */
export type Verdict = 'split' | 'give-up' | 'nothing-accepted' | 'too-many' | 'final';

/**
 * A file that is too large (413) is split however often that takes; its splits count for the others. What may
 * lie in a record (400, 422) is searched for in `maxSplits` splits of a run.
 */
export function judgeRefusal({ status, records, accepted, splits }: Refusal, maxSplits: number): Verdict {
  const tooLarge = status === 413;
  if (!tooLarge && status !== 400 && status !== 422) return 'final';
  if (tooLarge && records > 1) return 'split';
  if (accepted === 0) return 'nothing-accepted';
  if (records === 1) return 'give-up';
  return splits < maxSplits ? 'split' : 'too-many';
}
