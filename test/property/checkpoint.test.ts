/** Random changes, legal and not, on SQLite and on the in-memory model: the answers are equal. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Checkpoint, ChunkState } from '../../src/checkpoint/checkpoint.js';
import { openSqliteCheckpoint } from '../../src/checkpoint/open-sqlite-checkpoint.js';
import { beginUpload, sampleReply } from '../helpers/advance-chunk.js';
import {
  sampleChunk,
  samplePart,
  samplePublication,
  sampleRun,
  sampleSource,
  withFolder,
} from '../helpers/checkpoint-samples.js';
import { createMemoryCheckpoint } from '../helpers/memory-checkpoint.js';

/** Where a change is tried: a run, a chunk of it, and a number to vary the rest. */
interface Place {
  readonly run: string;
  readonly chunk: number;
  readonly vary: number;
}
type Change = (checkpoint: Checkpoint, place: Place) => Promise<unknown>;

const listed = (vary: number) => [
  { fileStatus: 'SUCCESSFUL' as const, part: 0 },
  { fileStatus: 'FAILED' as const, part: vary },
];
const counts = (vary: number) => ({ successful: 10 - vary, failed: 0, unprocessed: vary, indistinct: vary });

const changes: Readonly<Record<string, Change>> = {
  recordRun: (to, { run, vary }) => to.recordRun(sampleRun(run, { createdAt: vary })),
  recordSourceStamp: (to, { run, vary }) =>
    to.recordSourceStamp(run, sampleSource(`s${vary}`, vary ? 'aa' : 'bb')),
  recordSuperseded: (to, { run }) => to.recordSuperseded(run),
  recordInterrupted: (to, { run }) => to.recordInterrupted(run),
  recordCut: (to, { run, chunk }) => to.recordCut(run, sampleChunk(chunk)),
  recordAllCut: (to, { run, chunk }) => to.recordAllCut(run, chunk),
  recordIntent: (to, { run, chunk, vary }) => beginUpload(to, run, chunk, vary),
  recordAccepted: (to, { run, chunk, vary }) =>
    to.recordAccepted(run, chunk, { ...sampleReply(vary), rehearsal: vary === 2 }, vary),
  recordDropped: (to, { run, chunk, vary }) => to.recordDropped(run, chunk, vary),
  recordAdopted: (to, { run, chunk, vary }) =>
    to.recordAdopted(run, chunk, { ...sampleReply(vary), rehearsal: vary === 2 }, vary),
  recordHeld: (to, { run, chunk }) => to.recordUnprocessed(run, chunk, 'AMBIGUOUS_HELD'),
  recordAmbiguous: (to, { run, chunk, vary }) => to.recordAmbiguous(run, chunk, vary),
  recordFinished: (to, { run, chunk, vary }) =>
    to.recordFinished(run, chunk, { successful: 10 - vary, failed: vary }, listed(vary)),
  recordPart: (to, { run, chunk, vary }) => to.recordPart(run, chunk, samplePart(vary)),
  recordFailedPart: (to, { run, chunk, vary }) =>
    to.recordPart(run, chunk, samplePart(vary, { fileStatus: 'FAILED' })),
  recordDownloaded: (to, { run, chunk }) => to.recordDownloaded(run, chunk),
  recordUnprocessed: (to, { run, chunk }) => to.recordUnprocessed(run, chunk, 'DEADLINE'),
  recordColumns: (to, { run, vary }) => to.recordColumns(run, [`code${vary}`], vary === 1),
  recordJoin: (to, { run, vary }) =>
    to.recordJoin(run, vary ? { by: 'key', column: `id${vary}` } : { by: 'echo', columns: ['name'] }),
  recordMerged: (to, { run, chunk, vary }) => to.recordMerged(run, chunk, counts(vary), chunk * 100 + vary),
  recordUnmerged: (to, { run, chunk }) => to.recordUnmerged(run, chunk),
  recordPublishing: (to, { run }) => to.recordPublishing(run, samplePublication),
  recordDone: (to, { run, vary }) => to.recordDone(run, vary),
  recordUnpublished: (to, { run }) => to.recordUnpublished(run),
};

/** The changes that lead a chunk on, by its state: random ones alone would hardly ever reach the merge. */
const onward: Readonly<Record<ChunkState | 'none', readonly string[]>> = {
  none: ['recordRun', 'recordCut'],
  cut: ['recordIntent'],
  uploading: ['recordAccepted'],
  ambiguous: ['recordIntent'],
  submitted: ['recordFinished'],
  finished: ['recordPart', 'recordFailedPart', 'recordDownloaded'],
  downloaded: ['recordMerged'],
  unprocessed: ['recordMerged'],
};

const place = fc.record({
  run: fc.constantFrom('r1', 'r1', 'r2'),
  chunk: fc.integer({ min: 1, max: 3 }),
  vary: fc.nat(2),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('onward'), place }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom(...Object.keys(changes)), place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen'), place }) },
);

/** One way through everything, so that each change also succeeds whatever the random ones do. */
const fullWay = [
  ...['onward', 'onward', 'recordAmbiguous', 'onward', 'recordDropped', 'onward', 'recordInterrupted'],
  ...['reopen', 'onward', 'onward', 'onward', 'onward', 'recordColumns', 'recordJoin', 'onward'],
  ...['recordSourceStamp', 'recordUnmerged', 'reopen', 'onward', 'recordAllCut', 'recordPublishing'],
  ...['recordDone', 'recordUnpublished', 'recordUnmerged', 'recordSuperseded'],
].map((what) => ({ do: what, place: { run: 'r1', chunk: 1, vary: 1 } }));
const givenUp = ['onward', 'recordUnprocessed', 'onward'].map((what) => ({
  do: what,
  place: { run: 'r2', chunk: 1, vary: 1 },
}));

/** Held, merged, published, and at last found. */
const adopted = [
  ...['onward', 'onward', 'recordAmbiguous', 'recordHeld', 'onward', 'recordPublishing', 'recordDone'],
  ...['reopen', 'recordAdopted', 'recordUnprocessed', 'recordAdopted'],
].map((what) => ({ do: what, place: { run: 'r2', chunk: 2, vary: 2 } }));

/** What a call answered: its value, or the method that refused. */
async function answer(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (error) {
    return error instanceof Error && error.name === 'CheckpointStateError' && 'method' in error
      ? { refused: error.method }
      : { error };
  }
}

/** Everything that can be asked. */
async function everything(checkpoint: Checkpoint): Promise<unknown> {
  const answers: unknown[] = [
    await checkpoint.runs(),
    await checkpoint.unfinishedRun('nightly'),
    await checkpoint.latestRun('nightly'),
    await checkpoint.doneRun('nightly', 'https://service.test', 'aa'),
    await checkpoint.knownColumns('nightly', 'https://service.test'),
    await checkpoint.uploadOf('https://service.test', 'folio-0'),
    await checkpoint.uploadOf('https://service.test', 'folio-2'),
    await checkpoint.uploadOf('https://elsewhere.test', 'folio-0'),
  ];
  for (const run of ['r1', 'r2']) {
    answers.push(await checkpoint.tally(run), await checkpoint.uploads(run, 0, 2));
    answers.push(await checkpoint.lastChunk(run), await checkpoint.lastMerged(run));
    answers.push(await checkpoint.chunksIn(run, ['cut', 'finished', 'downloaded', 'unprocessed'], 0, 2));
    for (const chunk of [1, 2, 3]) {
      answers.push(await checkpoint.chunk(run, chunk), await checkpoint.parts(run, chunk));
      answers.push(await checkpoint.listedParts(run, chunk));
    }
  }
  return answers;
}

it('SQLite answers as the model does, closed and opened again at any point', async () => {
  const reached = new Set<string>();
  let latest = Promise.resolve();
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }),
    (steps) => {
      latest = withFolder(async (folder) => {
        let sqlite = await openSqliteCheckpoint(folder);
        const model = createMemoryCheckpoint();
        try {
          for (const { do: what, place } of steps) {
            if (what === 'reopen') {
              await sqlite.close();
              sqlite = await openSqliteCheckpoint(folder);
              continue;
            }
            const state = (await model.chunk(place.run, place.chunk))?.state ?? 'none';
            for (const name of what === 'onward' ? onward[state] : [what]) {
              // A part is listed with the number that its chunk's finish was varied by: onward keeps to one.
              const at = what === 'onward' ? { ...place, vary: 0 } : place;
              const expected = await answer(changes[name]!(model, at));
              expect(await answer(changes[name]!(sqlite, at)), `${name} ${JSON.stringify(at)}`).toEqual(
                expected,
              );
              if (expected !== null && typeof expected === 'object' && 'value' in expected) reached.add(name);
            }
          }
          expect(await everything(sqlite)).toEqual(await everything(model));
        } finally {
          await sqlite.close();
        }
      });
      return latest;
    },
  );
  await fc.assert(property, {
    numRuns: 50,
    interruptAfterTimeLimit: 4_000,
    examples: [[[...fullWay, ...givenUp, ...adopted]]],
  });
  // The one that the time limit has left behind.
  await latest;
  expect([...reached].sort()).toEqual(Object.keys(changes).sort());
});
