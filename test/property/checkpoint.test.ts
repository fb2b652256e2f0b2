/** Random changes, legal and not, on SQLite, on Postgres and on the in-memory model: the answers are equal. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { openSqliteCheckpoint } from '../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { askEverything } from '../helpers/checkpoint/ask-everything.js';
import { chunkChanges, runChanges, wrongChanges } from '../helpers/checkpoint/walk-steps.js';
import { advance, aim, lookAt, type StepTarget } from '../helpers/checkpoint/walk-target.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';
import { usePostgres } from '../helpers/postgres/postgres.js';
import { openState, useStateDatabase } from '../helpers/postgres/postgres-state.js';
import { forTime } from '../helpers/properties/for-time.js';
import { expectRecovered } from '../helpers/state/expect-recovered.js';
import { withEmptyState } from '../helpers/state/prepared-state.js';

const RUNS = ['r1', 'r2', 'r3'];
const known = { ...runChanges, ...chunkChanges, ...wrongChanges };

interface Step {
  /** A change, `advance` for one of those that a chunk may go on by, or `close` and open again. */
  readonly do: string;
  readonly target: StepTarget;
  /** Whether the target is moved to where the change may succeed: by chance alone few would. */
  readonly aimed: boolean;
}

const target: fc.Arbitrary<StepTarget> = fc.record({
  run: fc.constantFrom('r1', 'r1', 'r1', 'r2', 'r2', 'r3'),
  chunk: fc.integer({ min: 1, max: 6 }),
  vary: fc.nat(2),
  choice: fc.nat(99),
  budget: fc
    .tuple(
      fc.constantFrom('2026-10-31', '2026-11-01', '2026-11-21'),
      fc.constantFrom(
        {},
        {},
        {},
        { perRun: 6 },
        { perDay: 5 },
        { perMonth: 9 },
        { perRun: 9, perDay: 7, perMonth: 11 },
      ),
    )
    .map(([day, caps]) => ({ day, ...caps })),
});
const stepOf = (...names: string[]) =>
  fc.record({ do: fc.constantFrom(...names), target, aimed: fc.constantFrom(true, true, true, false) });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: stepOf('advance') },
  { weight: 10, arbitrary: stepOf(...Object.keys(chunkChanges)) },
  { weight: 3, arbitrary: stepOf(...Object.keys(runChanges)) },
  { weight: 2, arbitrary: stepOf(...Object.keys(wrongChanges)) },
  { weight: 1, arbitrary: stepOf('close') },
);

/** Steps of one run, each as `name chunk vary`; 1 and 0 where they are left out. */
function way(run: string, ...steps: readonly string[]): Step[] {
  return steps.map((text) => {
    const [name, chunk = '1', vary = '0'] = text.split(' ');
    return {
      do: name!,
      aimed: false,
      target: { run, chunk: Number(chunk), vary: Number(vary), choice: 0, budget: {} },
    };
  });
}

/** Ways through everything, so that each change also succeeds whatever the random ones do. */
const ways: readonly Step[] = [
  ...way('r1', 'recordRun', 'recordCut 1', 'recordCut 2 2', 'recordCut 3 1', 'recordCut 4', 'recordIntent'),
  ...way(
    'r1',
    'recordAmbiguous',
    'recordIntent',
    'recordDropped',
    'recordIntent',
    'recordInterrupted',
    'close',
  ),
  ...way('r1', 'recordIntent', 'recordAccepted', 'recordFinished', 'recordParts', 'recordFailedPart 1 2'),
  ...way('r1', 'recordDownloaded', 'recordSplit 2', 'recordRefused 4', 'recordIntent 3', 'recordAccepted 3'),
  ...way('r1', 'recordRefetched 1 1', 'recordLost 3', 'recordFound 3'),
  ...way('r1', 'recordUnprocessed 3', 'recordRefused 5', 'recordIntent 6', 'recordAccepted 6'),
  ...way(
    'r1',
    'recordUnprocessed 6',
    'recordColumns',
    'recordColumnsAdded',
    'recordJoin',
    'recordUnjoined',
    'close',
  ),
  ...way('r1', 'recordMerged 1', 'recordMerged 5', 'recordMerged 6', 'recordMerged 3', 'recordMerged 4'),
  ...way('r1', 'recordSourceStamp 1 1', 'recordPublishingPartly', 'recordDone', 'recordPublishingPartly'),
  ...way('r1', 'recordUnpublished', 'recordAllCut', 'recordCutInRound 7 2', 'recordSplit 7'),
  ...way('r1', 'recordUnprocessed 8', 'recordUnprocessed 9', 'recordRoundClosed', 'recordMerged 1'),
  ...way('r1', 'recordSearchIntent 1', 'recordSearchAnswered 1 1', 'recordSearchIntent 2'),
  ...way('r1', 'recordSearchDropped 2', 'recordSearchIntent 3', 'recordSearchAmbiguous 3', 'recordUnmerged'),
  ...way('r1', 'recordSingleSearchIntent 1', 'recordSingleSearchEnd 1 2', 'recordSingleSearchIntent 2 2'),
  ...way('r1', 'recordSingleSearchEnd 2', 'recordSingleSearchIntent 3', 'close', 'recordSingleSearchEnd 3 1'),
  ...way('r1', 'recordPublishing', 'recordDone', 'recordReopened', 'recordPublishing', 'recordDone', 'close'),
  ...way(
    'r1',
    'recordReopened',
    'recordWithheld 1 1',
    'recordWithheld',
    'recordPublishing',
    'recordUnpublished',
  ),
  ...way(
    'r1',
    'recordConfirmed 1 1',
    'recordReopened',
    'recordConfirmed',
    'close',
    'recordPublishing',
    'recordUnpublished',
  ),
  ...way('r1', 'recordWithheld', 'recordReopened', 'recordWithheld 1 2', 'close', 'recordSourceStamp 1 1'),
  ...way('r1', 'recordSegment', 'recordSegment 1 1', 'recordSegmentsForgotten 1 1', 'recordPruned'),
  ...way('r2', 'recordRun', 'recordSearchIntent', 'recordSingleSearchIntent 4'),
  ...way('r2', 'recordCut', 'recordIntent', 'recordAmbiguous', 'recordHeld', 'recordMerged'),
  ...way(
    'r2',
    'recordPublishing',
    'recordDone',
    'close',
    'recordAdopted 1 2',
    'recordMixed',
    'recordSuperseded',
  ),
];

/** So that few steps of a walk are about what is not there. */
const begun = [
  ...way(
    'r1',
    'recordRun',
    'recordCut 1 2',
    'recordCut 2 1',
    'recordCut 3',
    'recordIntent 1',
    'recordIntent 2',
  ),
  ...way('r2', 'recordRun', 'recordCut 1 2', 'recordAllCut'),
];

/** What a call answered: its value, the method that refused, or the cap that was passed. */
async function answer(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'CheckpointStateError' && 'method' in error) return { refused: error.method };
    if (error.name !== 'GuardError' || !('code' in error && 'facts' in error)) throw error;
    return { code: error.code, cap: (error.facts as { cap?: unknown }).cap };
  }
}

/** Takes both through the steps; tells which changes succeeded. @param open gives the checkpoint as it was left. */
async function walk(
  open: () => Promise<Checkpoint>,
  model: Checkpoint,
  steps: readonly Step[],
): Promise<Set<string>> {
  const succeeded = new Set<string>();
  let stored = await open();
  try {
    for (const { do: what, target, aimed } of steps) {
      if (what === 'close') {
        await stored.close();
        stored = await open();
        continue;
      }
      const { name, target: at } =
        what === 'advance'
          ? await advance(model, target)
          : { name: what, target: aimed ? await aim(model, what, target) : target };
      const seen = await lookAt(model, at);
      const expected = await answer(known[name]!(model, at, seen));
      const given = await answer(known[name]!(stored, at, seen));
      expect(given, `${name} ${JSON.stringify(at)}`).toEqual(expected);
      if (expected !== null && typeof expected === 'object' && 'value' in expected) succeeded.add(name);
    }
    expect(await askEverything(stored, RUNS)).toEqual(await askEverything(model, RUNS));
    return succeeded;
  } finally {
    await stored.close();
  }
}

const allChanges = Object.keys({ ...runChanges, ...chunkChanges }).sort();

/** Random walks. @param take takes the checkpoint and a new model through one. */
async function tryWalks(take: (steps: readonly Step[]) => Promise<Set<string>>): Promise<void> {
  const walk = async (random: readonly Step[]): Promise<void> => {
    const succeeded = await take([...begun, ...random]);
    expect([...succeeded].filter((name) => name in wrongChanges)).toEqual([]);
  };
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, walk), forTime(2_000, 50));
}

describe('SQLite', () => {
  const walkSqlite = (steps: readonly Step[]) =>
    withEmptyState(async (folder) => {
      const succeeded = await walk(() => openSqliteCheckpoint(folder), createMemoryCheckpoint(), steps);
      await expectRecovered(folder);
      return succeeded;
    });

  it('answers as the model does after each change there is', async () => {
    expect([...(await walkSqlite(ways))].sort()).toEqual(allChanges);
  });

  it('answers as the model does, closed and opened again at any point', () => tryWalks(walkSqlite));
});

describe('Postgres', () => {
  const shared = useStateDatabase(usePostgres());
  /**
   * There, the caps of a day and of a month count what other pipelines have spent too, and a process may end searches
   * that another one has marked as interrupted.
   */
  const asThere = ({ target, ...step }: Step): Step[] => {
    const budget = { ...target.budget, perDay: null, perMonth: null };
    const given = { ...step, target: { ...target, budget } };
    return step.do === 'recordInterrupted' ? [{ ...given, do: 'close' }, given] : [given];
  };
  const walkPostgres = async (steps: readonly Step[]) => {
    await shared.empty();
    return walk(
      async () => {
        const state = await openState(shared.database);
        const held = await state.lock.take('nightly', { pid: 4242, command: 'foliopipe run', since: 0 });
        const close = () => held.close().finally(state.close);
        return { ...state.checkpoint, close };
      },
      createMemoryCheckpoint(),
      steps.flatMap(asThere),
    );
  };

  it('answers as the model does after each change there is', async () => {
    expect([...(await walkPostgres(ways))].sort()).toEqual(allChanges);
  });

  it('answers as the model does, closed and opened again at any point', () => tryWalks(walkPostgres));
});
