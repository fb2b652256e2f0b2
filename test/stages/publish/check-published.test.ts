import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PublishedFile, Run } from '../../../src/checkpoint/checkpoint.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { checkPublished } from '../../../src/stages/publish/check-published.js';
import { publishOutput } from '../../../src/stages/publish/publish-output.js';
import { stampAt } from '../../../src/streams/file-identity.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, nothing, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

async function published(): Promise<{ run: StageRun; row: Run; path: string }> {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  await publishOutput(run)(mergeResults(run)(nothing()));
  return { run, row: (await run.checkpoint.run(run.id))!, path: run.config.output.path };
}

/** As if these were all files that the pipeline has published. */
function withFiles({ config, output }: StageRun, ...files: PublishedFile[]) {
  return { config, output, checkpoint: { publications: async () => files } };
}

/** As a version wrote it that knew no delta. */
function withoutDelta({ delta, ...output }: NonNullable<Run['publication']>['output']) {
  return output;
}

const inPlace = { kind: 'in-place', manifest: true, marker: true };

describe('the output of a done run', () => {
  it('is in place as it was published', async () => {
    const { run, row } = await published();
    expect(await checkPublished(run, row)).toEqual(inPlace);
  });

  it('is not read while it has the stamp that it was left with', async () => {
    const { run, row, path } = await published();
    const [file] = await run.checkpoint.publications('nightly');
    await writeFile(path, 'edited');
    const stamped = { ...file!, stamp: stampAt(path)! };
    expect(await checkPublished(withFiles(run, stamped), row)).toEqual(inPlace);
    await expect(checkPublished(run, row)).rejects.toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
    await expect(checkPublished(withFiles(run), row)).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
  });

  it('is read where the stamp is not known or another, and its content decides', async () => {
    const { run, row, path } = await published();
    const [file] = await run.checkpoint.publications('nightly');
    for (const stamp of [null, 'another']) {
      expect(await checkPublished(withFiles(run, { ...file!, stamp }), row)).toEqual(inPlace);
    }
    const text = 'n'.repeat(file!.bytes);
    await writeFile(path, text);
    await expect(checkPublished(run, row)).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
  });

  it('that is missing, or is another publication, is to be published again', async () => {
    const { run, row, path } = await published();
    const [file] = await run.checkpoint.publications('nightly');
    const newer = { ...file!, number: 2, run: 'r2', sha256: 'ff', stamp: null };
    expect(await checkPublished(withFiles(run, newer, file!), row)).toEqual({
      kind: 'publish',
      why: `publication 1 (run ${run.id}) stood in its place`,
    });
    const other = { ...newer, stamp: stampAt(path)! };
    expect(await checkPublished(withFiles(run, other, file!), row)).toEqual({
      kind: 'publish',
      why: 'publication 2 (run r2) stood in its place',
    });
    await rm(path);
    expect(await checkPublished(run, row)).toEqual({ kind: 'publish', why: 'its output was not there' });
  });

  it('counts as ours elsewhere only where this run has published it', async () => {
    const { run, row, path } = await published();
    const [file] = await run.checkpoint.publications('nightly');
    const moved = join(dirname(path), 'moved.csv');
    await rename(path, moved);
    const config = { ...run.config, output: { ...run.config.output, path: moved, prefix: 'p_' } };
    expect(await checkPublished({ ...run, config }, row)).toEqual({
      kind: 'publish',
      why: 'the config has changed (output.path, output.prefix)',
    });
    const others = withFiles({ ...run, config }, { ...file!, run: 'r2' });
    await expect(checkPublished(others, row)).rejects.toMatchObject({
      code: 'OUTPUT_CHANGED',
      message: `run ${run.id}: ${moved} is not a file that this pipeline has published`,
    });
  });

  it('is published again when a delta is wanted, or one by another key', async () => {
    const { run, row } = await published();
    const wanting = (delta: boolean, key: string[] | null) => {
      const { source, output } = run.config;
      return { ...run, config: { ...run.config, source: { ...source, key }, output: { ...output, delta } } };
    };
    expect(await checkPublished(wanting(false, ['name']), row)).toEqual(inPlace);
    const why = 'the config has changed (output.delta, source.key)';
    expect(await checkPublished(wanting(true, ['name']), row)).toEqual({ kind: 'publish', why });
    const { publication, frozen } = row;
    const output = { ...publication!.output, delta: true };
    const withDelta = {
      ...row,
      publication: { ...publication!, output },
      frozen: { ...frozen, 'source.key': '["name"]' },
    };
    expect(await checkPublished(wanting(true, ['name']), withDelta)).toEqual(inPlace);
    expect(await checkPublished(wanting(true, ['address']), withDelta)).toEqual({
      kind: 'publish',
      why: 'the config has changed (source.key)',
    });
    const before = { ...row, publication: { ...publication!, output: withoutDelta(publication!.output) } };
    expect(await checkPublished(run, before)).toEqual(inPlace);
  });

  it('without its marker or, where its results are gone, its manifest is in place', async () => {
    const { run, row, path } = await published();
    await rm(`${path}._SUCCESS`);
    expect(await checkPublished(run, row)).toEqual({ ...inPlace, marker: false });
    await rm(`${path}.manifest.json`);
    expect(await checkPublished(run, row)).toMatchObject({ kind: 'publish' });
    const pruned = { ...row, prunedAt: 1 };
    expect(await checkPublished(run, pruned)).toEqual({ kind: 'in-place', marker: false, manifest: false });
  });
});
