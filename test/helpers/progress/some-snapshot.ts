/** A snapshot of a run on which nothing is done yet. */
import type { ProgressSnapshot } from '../../../pipelines/index.js';
import { nothingTallied } from '../checkpoint/samples.js';

type Changes = Partial<Omit<ProgressSnapshot, 'byState'>> & {
  readonly byState?: Partial<ProgressSnapshot['byState']>;
};

/** @param now epoch milliseconds, when it is taken; the run was begun 20 minutes before. */
export function someSnapshot(now: number, { byState, ...changes }: Changes = {}): ProgressSnapshot {
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
    byState: { ...nothingTallied, ...byState },
    recordsByState: nothingTallied,
    merged: { chunks: 0, records: 0 },
    failed: { records: 0, of: 0, reasons: [] },
    folios: { open: 0, admitted: null, oldest: [] },
    rate: null,
    etaMs: null,
    waits: [],
    ...changes,
  };
}
