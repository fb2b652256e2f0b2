/** Columns that the service adds during a run, under `result.onChange: add`. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { mergePartly } from '../../../src/stages/merge/merge-partly.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { publishOutput } from '../../../src/stages/publish/publish-output.js';
import { publishPartly } from '../../../src/stages/publish/publish-partly.js';
import { contentOf, createFakeApi, type FakeApi, idsOf } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  createStageRun,
  downloadAll,
  inNewProcess,
  nothing,
  type StageRun,
} from '../../helpers/stages/stage-run.js';

const folder = useFolder();
/** The columns of the answers for each chunk, behind the id. */
type Columns = Readonly<Record<number, readonly string[]>>;

/** A service whose answers are the names of the columns with the id of the record. */
function answering(columns: Columns): FakeApi {
  const service = createFakeApi();
  return {
    ...service,
    download: async ({ folio }, consume) => {
      const ids = idsOf(service.folios.get(folio)!);
      const names = columns[Math.ceil(Number(ids[0]) / 2)]!;
      const rows = ids.map((id) => [id, ...names.map((name) => `${name}${id}`)].join(','));
      const part = `${[['id', ...names].join(','), ...rows].join('\n')}\n`;
      return consume(contentOf(part), { rehearsal: false });
    },
  };
}

async function downloaded(columns: Columns, result: object = {}): Promise<StageRun> {
  const config = { result: { onChange: 'add', ...result } };
  const run = await createStageRun(await folder(), { api: answering(columns), config });
  await downloadAll(run);
  return run;
}

/** The whole output, computed from its definition. */
function expected(all: readonly string[], columns: Columns): string {
  const own = ['status', 'error_code', 'error', ...all].map((name) => `prediction_${name}`);
  const rows = [1, 2, 3, 4, 5, 6].map((n) => {
    const cells = all.map((name) => (columns[Math.ceil(n / 2)]!.includes(name) ? `${name}${n}` : ''));
    return `n${n},${n} Main St,SUCCESSFUL,,,${cells.join(',')}`;
  });
  return `${[['name', 'address', ...own].join(','), ...rows].join('\n')}\n`;
}

const publish = async (run: StageRun) => (await publishOutput(run)(mergeResults(run)(nothing())))!;
const output = (run: StageRun) => readFile(run.config.output.path, 'utf8');
const warnings = (run: StageRun) => run.log.filter((line) => line.startsWith('warn'));
const known = (run: StageRun) => run.checkpoint.knownColumns('nightly', 'https://service.test');

describe('a column that the service adds', () => {
  it.each<[string, Columns, readonly string[]]>([
    ['at the end', { 1: ['a'], 2: ['a'], 3: ['b', 'a'] }, ['a', 'b']],
    ['twice', { 1: ['a'], 2: ['z', 'a', 'y'], 3: ['b', 'a'] }, ['a', 'z', 'y', 'b']],
    ['instead of another', { 1: ['a'], 2: ['b'], 3: ['b'] }, ['a', 'b']],
    ['for a while', { 1: ['a'], 2: ['a', 'b'], 3: ['a'] }, ['a', 'b']],
  ])('%s is empty in rows without it', async (_, columns, all) => {
    const run = await downloaded(columns);
    expect(await publish(run)).toMatchObject({ resultColumns: all, records: 6 });
    expect(await output(run)).toBe(expected(all, columns));
    expect(await known(run)).toEqual(all);
    expect((await run.checkpoint.tally(run.id)).merged.records).toBe(6);
  });

  it('is named once in a warning, and so is one that is gone', async () => {
    const run = await downloaded({ 1: ['a', 'b'], 2: ['a', 'c'], 3: ['a', 'c'] });
    await publish(run);
    expect(warnings(run)).toEqual([
      expect.stringContaining('chunk 2: the service\'s results lack "b";'),
      expect.stringContaining('the service has added the column "c";'),
    ]);
  });

  it('stands behind the declared ones', async () => {
    const columns = { 1: ['a', 'b'], 2: ['a', 'b'], 3: ['c', 'b', 'a'] };
    const run = await downloaded(columns, { columns: ['b', 'a'] });
    expect((await publish(run)).resultColumns).toEqual(['b', 'a', 'c']);
    expect(await output(run)).toBe(expected(['b', 'a', 'c'], columns));
  });

  it('that the pipeline has learned is there from the first row on', async () => {
    const columns = { 1: ['a'], 2: ['a'], 3: ['a'] };
    const run = await createStageRun(await folder(), {
      api: answering(columns),
      config: { result: { onChange: 'add', columns: ['c'] } },
    });
    await run.checkpoint.recordColumns(run.id, ['a', 'b'], true);
    await downloadAll(run);
    expect((await publish(run)).resultColumns).toEqual(['c', 'a', 'b']);
    expect(await output(run)).toBe(expected(['c', 'a', 'b'], columns));
  });

  const kills = (
    [
      'after-work-write-before-commit',
      'after-merged-before-next',
      'after-columns-added-before-merge',
      'after-last-merge-before-publishing',
    ] as const
  ).flatMap((point) => [1, 2, 3, 4, 5, 6].map((nth) => [point, nth] as const));

  it.each(kills)('gives the same bytes after a kill %s, time %i', async (point, nth) => {
    const columns = { 1: ['a'], 2: ['a', 'b'], 3: ['a', 'c'] };
    const run = await downloaded(columns);
    await publish(inNewProcess(run, point, nth)).catch(() => undefined);
    const { state } = (await run.checkpoint.run(run.id))!;
    if (state === 'open') await publish(inNewProcess(run));
    expect(await output(run)).toBe(expected(['a', 'b', 'c'], columns));
    expect(await known(run)).toEqual(['a', 'b', 'c']);
  });

  it('is in a partial publication, which teaches the pipeline nothing', async () => {
    const columns = { 1: ['a'], 2: ['a', 'b'], 3: ['c'] };
    const run = await downloaded(columns);
    const publication = await publishPartly(run)(mergePartly(run));
    expect(publication).toMatchObject({ resultColumns: ['a', 'b', 'c'], records: 6, partial: true });
    expect(await output(run)).toBe(expected(['a', 'b', 'c'], columns));
    expect(await known(run)).toBeUndefined();
    await publish(inNewProcess(run));
    expect(await output(run)).toBe(expected(['a', 'b', 'c'], columns));
  });
});
