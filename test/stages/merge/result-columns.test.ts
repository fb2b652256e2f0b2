/** Which columns the rows of a run get from the service, before the first row is written. */
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../src/checkpoint/checkpoint.js';
import { createColumnFinder, expectedColumns } from '../../../src/stages/merge/result-columns.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

const choice = (columns: readonly string[]) => ({ columns }) as NonNullable<Run['choice']>;

describe('the expected columns', () => {
  interface Given {
    readonly declared?: readonly string[];
    readonly own?: readonly string[];
    readonly known?: readonly string[];
    readonly reused?: readonly string[];
  }
  const all = { declared: ['d'], own: ['o'], known: ['k'], reused: ['r'] };

  it.each<[string, 'fail' | 'ignore' | 'add', Given, readonly string[]]>([
    ['those of the config', 'fail', all, ['d']],
    ['those of the run', 'ignore', { ...all, declared: [] }, ['o']],
    ['those of the pipeline', 'fail', { known: ['k'], reused: ['r'] }, ['k']],
    ['never those of reused answers alone', 'fail', { reused: ['r'] }, []],
    [
      'all of these once, where columns may be added',
      'add',
      { ...all, own: [], known: ['d', 'k'] },
      ['d', 'k', 'r'],
    ],
    ['those of config and run, where columns may be added', 'add', all, ['d', 'o']],
  ])('are %s', async (_, onChange, { declared = [], own = [], known, reused }, expected) => {
    const { config } = await createStageRun(await folder(), {
      config: { result: { columns: declared, onChange } },
    });
    const checkpoint = { knownColumns: async () => known };
    const columns = own.length === 0 ? null : own;
    const row = { columns, pipeline: 'p', service: 's', choice: reused ? choice(reused) : null };
    expect(await expectedColumns({ config, checkpoint }, row)).toEqual(expected);
  });
});

describe('the columns of a run', () => {
  const failing = () => createFakeApi({ answer: () => ({ status: 'FAILED', added: { reason: 'no' } }) });

  /** @param more what differs in the run's row. */
  async function downloaded(api = createFakeApi(), config = {}, more: Partial<Run> = {}): Promise<StageRun> {
    const run = await createStageRun(await folder(), {
      api,
      config: { failures: { tolerate: 1 }, ...config },
    });
    await downloadAll(run);
    const row = { ...(await run.checkpoint.run(run.id))!, ...more };
    return { ...run, checkpoint: { ...run.checkpoint, run: async () => row } };
  }
  const learned = (run: StageRun) => run.checkpoint.knownColumns('nightly', 'https://service.test');

  it('stay as they are once rows are merged, whatever the config declares now', async () => {
    const run = await downloaded(createFakeApi(), { result: { columns: ['other'] } }, { columns: ['code'] });
    expect(await createColumnFinder(run, 2)(false)).toEqual(['code']);
    expect(await createColumnFinder(run, 0)(false)).toEqual(['other']);
    expect(await learned(run)).toBeUndefined();
  });

  it('come from its first success, where rows are merged without any', async () => {
    const run = await downloaded(createFakeApi(), {}, { columns: [] });
    await run.checkpoint.recordColumns(run.id, ['other'], true);
    expect(await createColumnFinder(run, 2)(false)).toEqual(['code']);
  });

  it('are not known while an earlier chunk is not here', async () => {
    const run = await downloaded();
    await run.checkpoint.recordUnprocessed(run.id, 1, 'FOLIO_LOST');
    await run.checkpoint.recordFound(run.id, 1);
    expect(await createColumnFinder(run, 0)(false)).toBeUndefined();
  });

  it('are not known before all chunks are cut, if no record has a success', async () => {
    const run = await downloaded(failing(), {}, { chunks: null });
    expect(await createColumnFinder(run, 0)(true)).toBeUndefined();
  });

  it('are those of reused answers, if no record has a success', async () => {
    const run = await downloaded(failing(), {}, { choice: choice(['code']) });
    expect(await createColumnFinder(run, 0)(false)).toBeUndefined();
    expect(await createColumnFinder(run, 0)(true)).toEqual(['code']);
    expect(await createColumnFinder(run, 2)(true)).toEqual([]);
    expect(await learned(run)).toBeUndefined();
  });

  it.each<[string, boolean, Partial<Run>]>([
    ['of a service', true, {}],
    ['of a local service', true, { rehearsal: true }],
    [
      'of a local service under the name of another one',
      false,
      { rehearsal: true, frozen: { 'service.address': '"http://127.0.0.1:8787"' } },
    ],
  ])('%s are learned: %s', async (_, isLearned, more) => {
    const run = await downloaded(createFakeApi(), {}, more);
    expect(await createColumnFinder(run, 0)(false)).toEqual(['code']);
    expect(await learned(run)).toEqual(isLearned ? ['code'] : undefined);
  });
});
