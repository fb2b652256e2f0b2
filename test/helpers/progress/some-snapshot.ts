/** A snapshot of a run on which nothing is done yet. */
import type { ProgressSnapshot } from '../../../pipelines/index.js';

type Changes = Partial<Omit<ProgressSnapshot, 'byState'>> & {
  readonly byState?: Partial<ProgressSnapshot['byState']>;
};

/** @param now epoch milliseconds, when it is taken; the run was begun 20 minutes before. */
export function someSnapshot(now: number, { byState, ...changes }: Changes = {}): ProgressSnapshot {
  const none = {
    cut: 0,
    uploading: 0,
    ambiguous: 0,
    submitted: 0,
    finished: 0,
    downloaded: 0,
    unprocessed: 0,
    refused: 0,
    split: 0,
  };
  return {
    run: '20261123T025000-4f9c1a',
    pipeline: 'nightly',
    state: 'open',
    at: now,
    createdAt: now - 20 * 60_000,
    rehearsal: false,
    records: 60,
    toSend: 60,
    sentAgain: 0,
    answered: 0,
    chunks: null,
    byState: { ...none, ...byState },
    recordsByState: none,
    merged: { chunks: 0, records: 0 },
    failed: { records: 0, of: 0, reasons: [] },
    folios: { open: 0, oldest: [] },
    rate: null,
    etaMs: null,
    waits: [],
    ...changes,
  };
}
