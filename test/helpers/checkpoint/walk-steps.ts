/** Every change of the checkpoint's port as a step of the property test, with arguments made from the current state. */
import type { Checkpoint, NewChunk, Stretch } from '../../../src/checkpoint/checkpoint.js';
import { noRows } from '../../../src/results/row-counts.js';
import type { PartReference, StoredPart } from '../../../src/types.js';
import { beginUpload, sampleReply } from './advance-chunk.js';
import {
  sampleBudget,
  sampleChunk,
  sampleConfirmed,
  sampleHalves,
  samplePart,
  samplePicked,
  samplePublication,
  sampleRun,
  sampleSegment,
  sampleSource,
  sampleWithheld,
} from './samples.js';
import { nextRound, type StateBefore, type StepTarget } from './walk-target.js';

export type Change = (to: Checkpoint, target: StepTarget, seen: StateBefore) => Promise<unknown>;

/** One, two or four records of the source; with some, rejected records lie before or between them. */
function ofSource({ chunk, vary }: StepTarget, { lastOfSource }: StateBefore): NewChunk {
  const records = vary * 2 || 1;
  const firstRecord = lastOfSource + (vary === 1 ? 2 : 1);
  const lastRecord = firstRecord + records - (vary === 2 ? 0 : 1);
  return sampleChunk(chunk, { firstRecord, lastRecord, records });
}

/** One to three records of a round: every second one of the source. */
function ofRound({ chunk, vary }: StepTarget, { run, lastOfRound }: StateBefore): NewChunk {
  const numbers = Array.from({ length: vary + 1 }, (_, at) => lastOfRound + 1 + at * 2);
  return samplePicked(chunk, nextRound(run), numbers);
}

function halvesOf({ row, picked }: StateBefore): [NewChunk, NewChunk] {
  if (picked === undefined) return sampleHalves(row ?? sampleChunk(1));
  const middle = Math.floor(picked.length / 2);
  return [
    samplePicked(1, row!.round, picked.slice(0, middle)),
    samplePicked(2, row!.round, picked.slice(middle)),
  ];
}

function endsOf({ vary }: StepTarget, { row }: StateBefore) {
  const records = row?.records ?? 1;
  const unprocessed = Math.min(vary, records);
  const reused = { successful: vary, failed: 0 };
  return {
    ...noRows,
    successful: records - unprocessed,
    unprocessed,
    indistinct: vary,
    reused,
    skipped: vary,
  };
}

/** The records of the chunk, or a part of them. */
function stretchOf(target: StepTarget, seen: StateBefore): Stretch {
  const { firstRecord, lastRecord, records, end } = seen.row ?? sampleChunk(target.chunk);
  const counts = endsOf(target, seen);
  const workEnd = target.chunk * 100 + target.vary;
  return { firstRecord, lastRecord, records, end, counts, workEnd, sha256: 'f00d' };
}

function listed(vary: number): PartReference[] {
  const parts = [0, 2].map((part): PartReference => ({ fileStatus: part ? 'FAILED' : 'SUCCESSFUL', part }));
  return parts.slice(vary);
}
function refetched(vary: number): StoredPart[] {
  const failed = samplePart(2, { fileStatus: 'FAILED', sha256: `again-${vary}` });
  return [samplePart(0), samplePart(1), failed].slice(vary);
}
const partly = { ...samplePublication, partial: true };

/** Changes of a run. */
export const runChanges: Readonly<Record<string, Change>> = {
  recordRun: (to, { run, vary }) =>
    to.recordRun(
      sampleRun(run, { createdAt: vary, canary: vary, pipeline: run === 'r3' ? 'other' : 'nightly' }),
    ),
  recordSourceStamp: (to, { run, vary }) =>
    to.recordSourceStamp(run, sampleSource(`s${vary}`, vary ? 'aa' : 'bb')),
  recordInterrupted: (to, { run }) => to.recordInterrupted(run),
  recordMixed: (to, { run }) => to.recordMixed(run),
  recordSuperseded: (to, { run, vary }) => to.recordSuperseded(run, vary),
  recordAllCut: (to, { run }) => to.recordAllCut(run),
  recordRoundClosed: (to, { run }, seen) => to.recordRoundClosed(run, nextRound(seen.run)),
  recordColumns: (to, { run, vary }) => to.recordColumns(run, [`code${vary}`], vary === 1),
  recordColumnsAdded: (to, { run, vary }) => to.recordColumnsAdded(run, [`code${vary}`, 'title']),
  recordJoin: (to, { run, vary }) =>
    to.recordJoin(
      run,
      vary
        ? { by: 'key', column: `id${vary}`, judged: null }
        : { by: 'echo', columns: ['name'], judged: null },
    ),
  recordUnjoined: (to, { run }) => to.recordUnjoined(run),
  recordUnmerged: (to, { run, chunk }) => to.recordUnmerged(run, chunk * 2),
  recordPublishing: (to, { run, vary }) =>
    to.recordPublishing(
      run,
      { ...samplePublication, sha256: `ff${vary === 2 ? 2 : 0}` },
      vary === 0 ? undefined : { 'output.mode': `"${vary}"` },
    ),
  recordPublishingPartly: (to, { run }) => to.recordPublishing(run, partly),
  recordDone: (to, { run, vary }) => to.recordDone(run, vary, vary === 0 ? undefined : `stamp-${vary}`),
  recordWithheld: (to, { run, vary }) =>
    to.recordWithheld(
      run,
      { ...sampleWithheld, tolerate: vary / 10 },
      vary,
      vary === 0 ? undefined : sampleSegment(`${run}-${vary}`, run, vary),
    ),
  recordConfirmed: (to, { run, vary }) =>
    to.recordConfirmed(
      run,
      { ...sampleConfirmed, exitCode: vary },
      vary,
      vary === 0 ? undefined : sampleSegment(`${run}-${vary}`, run, vary),
    ),
  recordUnpublished: (to, { run }) => to.recordUnpublished(run),
  recordReopened: (to, { run }) => to.recordReopened(run),
  recordPruned: (to, { run, vary }) => to.recordPruned(run, vary),
};

/** Changes of a chunk or of a search. */
export const chunkChanges: Readonly<Record<string, Change>> = {
  recordCut: (to, target, seen) => to.recordCut(target.run, ofSource(target, seen)),
  recordCutInRound: (to, target, seen) => to.recordCut(target.run, ofRound(target, seen)),
  recordSplit: (to, target, seen) => to.recordSplit(target.run, target.chunk, halvesOf(seen)),
  recordRefused: (to, { run, chunk, vary }) => to.recordRefused(run, chunk, `no ${vary}`),
  recordIntent: (to, { run, chunk, vary, budget }) => beginUpload(to, run, chunk, vary, sampleBudget(budget)),
  recordAccepted: (to, { run, chunk, vary }) =>
    to.recordAccepted(run, chunk, { ...sampleReply(vary), rehearsal: vary === 2 }, vary),
  recordDropped: (to, { run, chunk, vary }) => to.recordDropped(run, chunk, vary),
  recordAmbiguous: (to, { run, chunk, vary }) =>
    to.recordAmbiguous(run, chunk, vary, (['no-reply', 'redirected', 'unreadable'] as const)[vary]!),
  recordAdopted: (to, { run, chunk, vary }) =>
    to.recordAdopted(run, chunk, { ...sampleReply(vary), rehearsal: vary === 2 }, vary),
  recordFinished: (to, { run, chunk, vary }) =>
    to.recordFinished(run, chunk, { successful: 10 - vary, failed: vary }, listed(vary)),
  recordParts: (to, { run, chunk, vary }) => to.recordParts(run, chunk, [samplePart(vary === 1 ? 1 : 0)]),
  recordFailedPart: (to, { run, chunk, vary }) =>
    to.recordParts(run, chunk, [samplePart(vary ? 2 : 0, { fileStatus: 'FAILED' })]),
  recordDownloaded: (to, { run, chunk }) => to.recordDownloaded(run, chunk),
  recordUnprocessed: (to, { run, chunk, vary }) =>
    to.recordUnprocessed(run, chunk, vary === 0 ? 'DEADLINE' : 'FOLIO_ABANDONED'),
  recordLost: (to, { run, chunk }) => to.recordUnprocessed(run, chunk, 'FOLIO_LOST'),
  recordFound: (to, { run, chunk }) => to.recordFound(run, chunk),
  recordRefetched: (to, { run, chunk, vary }) =>
    to.recordRefetched(run, chunk, { successful: vary, failed: 1 }, refetched(vary)),
  recordHeld: (to, { run, chunk }) => to.recordUnprocessed(run, chunk, 'AMBIGUOUS_HELD'),
  recordSearchIntent: (to, { run, chunk, vary, budget }) =>
    to.recordSearchIntent(run, chunk, vary, sampleBudget(budget)),
  recordSearchAnswered: (to, { run, chunk, vary }) =>
    to.recordSearchEnd(run, chunk, { state: 'answered', values: vary ? { code: `c${vary}` } : null }),
  recordSearchDropped: (to, { run, chunk }) => to.recordSearchEnd(run, chunk, { state: 'dropped' }),
  recordSearchAmbiguous: (to, { run, chunk }) => to.recordSearchEnd(run, chunk, { state: 'ambiguous' }),
  recordSingleSearchIntent: (to, { chunk, vary, budget }) => {
    const pipeline = vary === 2 ? 'other' : 'nightly';
    const search = { id: `s${chunk}`, pipeline, service: 'https://service.test', startedAt: vary };
    return to.recordSingleSearchIntent(search, sampleBudget(budget));
  },
  recordSingleSearchEnd: (to, { chunk, vary }) =>
    to.recordSingleSearchEnd(
      `s${chunk}`,
      vary === 0
        ? { state: 'dropped' }
        : vary === 1
          ? { state: 'ambiguous' }
          : { state: 'answered', local: true },
    ),
  recordMerged: (to, target, seen) => to.recordMerged(target.run, stretchOf(target, seen)),
  recordSegment: (to, { run, vary }) => to.recordSegment(sampleSegment(`${run}-${vary}`, run, vary)),
  recordSegmentsForgotten: (to, { run, vary }) => to.recordSegmentsForgotten([`${run}-${vary}`]),
};

/** Changes that are never allowed. */
export const wrongChanges: Readonly<Record<string, Change>> = {
  cutInFront: (to, target, seen) => {
    const firstRecord = Math.max(seen.lastOfSource - target.vary, 0);
    return to.recordCut(target.run, sampleChunk(1, { firstRecord, lastRecord: firstRecord + 50 }));
  },
  cutInOtherRound: (to, target, seen) =>
    to.recordCut(
      target.run,
      samplePicked(1, target.vary === 0 ? -1 : nextRound(seen.run) + target.vary, [900]),
    ),
  cutOtherRecords: (to, target, seen) => {
    const chunk = ofRound(target, seen);
    const { firstRecord, lastRecord, records } = chunk;
    const ends = [{ firstRecord: firstRecord - 1 }, { lastRecord: lastRecord + 1 }, { records: records + 1 }];
    return to.recordCut(target.run, { ...chunk, ...ends[target.vary] });
  },
  splitOtherRecords: (to, target, seen) => {
    const [first, second] = halvesOf(seen);
    const more = { ...second, records: second.records + 1 };
    const later = { ...second, lastRecord: second.lastRecord + 1 };
    const wrong = [[second, first] as const, [first, more] as const, [first, later] as const];
    return to.recordSplit(target.run, target.chunk, wrong[target.vary]!);
  },
  splitInOtherRound: (to, target, seen) => {
    const round = (seen.row?.round ?? 0) + 1;
    const [first, second] = halvesOf(seen).map((half, at): NewChunk => {
      const numbers = Array.from({ length: half.records }, (_, at) => half.firstRecord + at);
      return { ...samplePicked(at, round, numbers), lastRecord: half.lastRecord };
    });
    return to.recordSplit(target.run, target.chunk, [first!, second!]);
  },
  closeOtherRound: (to, { run, vary }, seen) =>
    to.recordRoundClosed(run, nextRound(seen.run) + [-1, 1, 2][vary]!),
  mergeOtherCounts: (to, target, seen) => {
    const counts = { ...endsOf(target, seen), failed: target.vary + 1 };
    return to.recordMerged(target.run, { ...stretchOf(target, seen), counts });
  },
};
