/** The model's sums over a run. */
import type { Answered, ChunkRow, Tally } from '../../../src/checkpoint/checkpoint.js';
import { addCounts, noRows } from '../../../src/results/row-counts.js';
import { nothingTallied } from '../checkpoint/samples.js';
import { attemptsOf, chunksInOrder, type MemoryRun } from './memory-state.js';

export function tallyOf(run: MemoryRun | undefined): Tally {
  const tally = {
    chunks: { ...nothingTallied },
    records: { ...nothingTallied },
    merged: { chunks: 0, records: 0 },
    counts: noRows,
    uploads: { accepted: 0, ambiguous: 0, resubmitted: 0 },
    searches: { answered: 0, ambiguous: 0 },
    ambiguousRecords: 0,
  };
  if (run === undefined) return tally;

  for (const { row } of run.chunks.values()) {
    tally.chunks[row.state] += 1;
    tally.records[row.state] += row.records;
  }
  const last = run.stretches.at(-1)?.lastRecord ?? 0;
  tally.merged.chunks = chunksInOrder(run, 0).filter(({ row }) => row.lastRecord <= last).length;
  for (const { records, counts } of run.stretches) {
    tally.merged.records += records;
    tally.counts = addCounts(tally.counts, counts);
  }
  for (const chunk of new Set(run.uploads.map((upload) => upload.chunk))) {
    let isSent = false;
    for (const { state, records } of attemptsOf(run, chunk)) {
      if (state !== 'accepted' && state !== 'ambiguous') continue;
      tally.uploads[state] += 1;
      if (isSent) tally.uploads.resubmitted += 1;
      isSent = true;
      if (state === 'ambiguous') tally.ambiguousRecords += records;
    }
  }
  for (const { state } of run.searches.values()) {
    if (state !== 'answered' && state !== 'ambiguous') continue;
    tally.searches[state] += 1;
    if (state === 'ambiguous') tally.ambiguousRecords += 1;
  }
  return tally;
}

export function answeredOf(run: MemoryRun | undefined): Answered {
  const here = [...(run?.chunks.values() ?? [])].filter(
    ({ row: { state } }) => state === 'downloaded' || state === 'refused',
  );
  const sumOf = (of: typeof here, count: (row: ChunkRow) => number) =>
    of.reduce((sum, { row }) => sum + count(row), 0);
  const again = here.filter(({ row }) => row.round > 0);
  const records = (row: ChunkRow) => row.records;
  return {
    records: sumOf(here, records) - sumOf(again, records),
    failed: sumOf(here, ({ counts }) => counts!.failed) - sumOf(again, records),
  };
}
