/** Which runs have bought answers that are in no segment yet: those of others would be bought again. */
import { expect, it } from 'vitest';
import type { Run } from '../../../src/checkpoint/checkpoint.js';
import { runsWithoutSegment } from '../../../src/run/open/missing-segments.js';
import type { Segment } from '../../../src/types.js';
import { sampleSegment } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

interface Given {
  /** What differs from a run that is done and has no segment. */
  readonly run?: Partial<Run>;
  /** Its segment, of 9 successful records and a failed one. */
  readonly segment?: Partial<Segment>;
  readonly answered?: { readonly records: number; readonly failed: number };
  readonly isMixed?: boolean;
  /** Whether it is the run that a new one replaces. */
  readonly isReplaced?: boolean;
}

const fewer = { records: 9, failed: 1 };
const otherFailed = { records: 10, failed: 2 };
const open = { run: { state: 'open' }, isReplaced: true } as const;

it.each<[string, boolean, Given]>([
  ['that is done', true, {}],
  ['with a segment', false, { segment: {}, answered: fewer }],
  ['that is pruned', false, { run: { prunedAt: 5 } }],
  ['without a chunk', false, { run: { chunks: 0 } }],
  ['without an answer', false, { answered: { records: 0, failed: 0 } }],
  ['of another service', false, { run: { service: 'https://other.test' } }],
  ['of other columns', false, { run: { frozen: { 'upload.columns': '{"address":"address"}' } } }],
  ['that a local service has answered', true, { run: { rehearsal: true } }],
  ['that a local service has answered in part', false, { run: { rehearsal: true }, isMixed: true }],
  ['that goes on', false, { run: { state: 'open' } }],
  ['that is replaced', true, open],
  ['that is replaced, with all answers in its segment', false, { ...open, segment: {} }],
  ['that is replaced, with more answers than its segment', true, { ...open, segment: {}, answered: fewer }],
  ['that is replaced, with other answers', true, { ...open, segment: {}, answered: otherFailed }],
  [
    'that is replaced, and of which answers were forgotten',
    false,
    { ...open, segment: { takenOut: 1 }, answered: fewer },
  ],
])('a run %s: %s', async (_, isFound, { run: changes, segment, answered, isMixed, isReplaced }) => {
  const { config, checkpoint, id } = await createStageRun(await folder());
  const run: Run = { ...(await checkpoint.run(id))!, state: 'done', chunks: 3, ...changes };
  const reader = {
    run: async () => run,
    runHeads: async () => [{ ...run, hasChoice: false }],
    segments: async () => (segment ? [{ ...sampleSegment('s1', id, 1), ...segment }] : []),
    answered: async () => answered ?? { records: 10, failed: 1 },
    replyKinds: async () => ({ local: true, other: false, mixed: isMixed ?? false }),
  };
  const found = await runsWithoutSegment(reader, config, isReplaced ? run : undefined);
  expect(found).toEqual(isFound ? [run] : []);
});
