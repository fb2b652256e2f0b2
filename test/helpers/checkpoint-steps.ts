/** Every change of the checkpoint's port as a step of a walk, its arguments made from what is there. */
import type { Checkpoint, NewChunk } from '../../src/checkpoint/checkpoint.js';
import type { PartReference, StoredPart } from '../../src/types.js';
import { beginUpload, sampleReply } from './advance-chunk.js';
import { nextRound, type Place, type Seen } from './checkpoint-place.js';
import {
  sampleBudget,
  sampleChunk,
  sampleHalves,
  samplePart,
  samplePicked,
  samplePublication,
  sampleRun,
  sampleSource,
} from './checkpoint-samples.js';

export type Change = (to: Checkpoint, place: Place, seen: Seen) => Promise<unknown>;

/** One, two or four records, with and without rejected ones before and among them. */
function ofSource({ chunk, vary }: Place, { lastOfSource }: Seen): NewChunk {
  const records = vary * 2 || 1;
  const firstRecord = lastOfSource + (vary === 1 ? 2 : 1);
  const lastRecord = firstRecord + records - (vary === 2 ? 0 : 1);
  return sampleChunk(chunk, { firstRecord, lastRecord, records });
}

/** One to three records, every other one of the source. */
function ofRound({ chunk, vary }: Place, { run, lastOfRound }: Seen): NewChunk {
  const numbers = Array.from({ length: vary + 1 }, (_, at) => lastOfRound + 1 + at * 2);
  return samplePicked(chunk, nextRound(run), numbers);
}

function halvesOf({ row, picked }: Seen): [NewChunk, NewChunk] {
  if (picked === undefined) return sampleHalves(row ?? sampleChunk(1));
  const middle = Math.floor(picked.length / 2);
  return [
    samplePicked(1, row!.round, picked.slice(0, middle)),
    samplePicked(2, row!.round, picked.slice(middle)),
  ];
}

function endsOf({ vary }: Place, { row }: Seen) {
  const records = row?.records ?? 1;
  const unprocessed = Math.min(vary, records);
  return { successful: records - unprocessed, failed: 0, unprocessed, indistinct: vary };
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

/** Changes of a run as a whole. */
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
  recordRoundSettled: (to, { run }, seen) => to.recordRoundSettled(run, nextRound(seen.run)),
  recordColumns: (to, { run, vary }) => to.recordColumns(run, [`code${vary}`], vary === 1),
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
  recordUnpublished: (to, { run }) => to.recordUnpublished(run),
  recordReopened: (to, { run }) => to.recordReopened(run),
  recordPruned: (to, { run, vary }) => to.recordPruned(run, vary),
};

/** Changes of one of its chunks, or of a search. */
export const chunkChanges: Readonly<Record<string, Change>> = {
  recordCut: (to, place, seen) => to.recordCut(place.run, ofSource(place, seen)),
  recordCutInRound: (to, place, seen) => to.recordCut(place.run, ofRound(place, seen)),
  recordSplit: (to, place, seen) => to.recordSplit(place.run, place.chunk, halvesOf(seen)),
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
  recordPart: (to, { run, chunk, vary }) => to.recordPart(run, chunk, samplePart(vary === 1 ? 1 : 0)),
  recordFailedPart: (to, { run, chunk, vary }) =>
    to.recordPart(run, chunk, samplePart(vary ? 2 : 0, { fileStatus: 'FAILED' })),
  recordDownloaded: (to, { run, chunk }) => to.recordDownloaded(run, chunk),
  recordUnprocessed: (to, { run, chunk }) => to.recordUnprocessed(run, chunk, 'DEADLINE'),
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
  recordMerged: (to, place, seen) =>
    to.recordMerged(place.run, place.chunk, endsOf(place, seen), place.chunk * 100 + place.vary, 'f00d'),
};

/** Changes that nothing allows, whatever there is. */
export const wrongChanges: Readonly<Record<string, Change>> = {
  cutInFront: (to, place, seen) => {
    const firstRecord = Math.max(seen.lastOfSource - place.vary, 0);
    return to.recordCut(place.run, sampleChunk(1, { firstRecord, lastRecord: firstRecord + 50 }));
  },
  cutInOtherRound: (to, place, seen) =>
    to.recordCut(place.run, samplePicked(1, nextRound(seen.run) + place.vary - 3, [900])),
  cutOtherRecords: (to, place, seen) => {
    const chunk = ofRound(place, seen);
    const { firstRecord, lastRecord, records } = chunk;
    const ends = [{ firstRecord: firstRecord - 1 }, { lastRecord: lastRecord + 1 }, { records: records + 1 }];
    return to.recordCut(place.run, { ...chunk, ...ends[place.vary] });
  },
  splitOtherRecords: (to, place, seen) => {
    const [first, second] = halvesOf(seen);
    const more = { ...second, records: second.records + 1 };
    const later = { ...second, lastRecord: second.lastRecord + 1 };
    const wrong = [[second, first] as const, [first, more] as const, [first, later] as const];
    return to.recordSplit(place.run, place.chunk, wrong[place.vary]!);
  },
  splitInOtherRound: (to, place, seen) => {
    const round = (seen.row?.round ?? 0) + 1;
    const [first, second] = halvesOf(seen).map((half, at): NewChunk => {
      const numbers = Array.from({ length: half.records }, (_, at) => half.firstRecord + at);
      return { ...samplePicked(at, round, numbers), lastRecord: half.lastRecord };
    });
    return to.recordSplit(place.run, place.chunk, [first!, second!]);
  },
  settleOtherRound: (to, { run, vary }, seen) =>
    to.recordRoundSettled(run, nextRound(seen.run) + [-1, 1, 2][vary]!),
  mergeOtherCounts: (to, place, seen) => {
    const counts = endsOf(place, seen);
    return to.recordMerged(place.run, place.chunk, { ...counts, failed: place.vary + 1 }, 7, 'f00d');
  },
};
