/** A done run that is published again, killed in each window and started again, ends as without the kill. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpointReader } from '../../../pipelines/index.js';
import { fineNames, type LocalJob, sourceOf, withLocalJob } from '../../helpers/jobs/local-job.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const windows = [
  'after-work-write-before-commit:2',
  'after-merged-before-next:2',
  'after-last-merge-before-publishing',
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
];

describe('a done run that is published again over the output of another', () => {
  it.concurrent.each(windows)('killed %s ends with the same bytes under one number', async (armed) => {
    await withLocalJob({ names: fineNames(30) }, async (job) => {
      const first = await job.enrich();
      const before = await readFile(job.output);
      const source = await readFile(job.source);
      await writeFile(job.source, sourceOf(fineNames(12)));
      const second = await job.enrich();
      await writeFile(job.source, source);

      await killCliAt(armed, ['run', job.file]);
      await expectNoOldMarker(job);
      expect(await publicationOf(job)).not.toBe(1);

      const end = await job.enrich();
      expect(end).toMatchObject({ run: first.run, found: 'done', state: 'done', publication: 3 });
      expect(await readFile(job.output)).toEqual(before);
      expect(await publicationOf(job)).toBe(3);
      await expectNoOldMarker(job);
      const files = await readdir(dirname(job.output));
      expect(files.filter((name) => name.endsWith('.partial'))).toEqual([]);
      const reader = (await openCheckpointReader(job.config().stateDir))!;
      const numbers = (await reader.publications('nightly')).map(({ number, run }) => [number, run]);
      await reader.close();
      expect(numbers).toEqual([
        [3, first.run],
        [2, second.run],
        [1, first.run],
      ]);
      expect(await job.served()).toHaveLength(3 + 2);
    });
  });
});

describe('a done run whose publish was killed', () => {
  it('leaves nothing beside its output once run has found it in place', async () => {
    await withLocalJob({ names: fineNames(30), config: { reuse: { maxAge: '90d' } } }, async (job) => {
      const { run } = await job.enrich();
      const before = await readFile(job.output);
      await killCliAt('after-merged-before-next', ['publish', run, job.file]);
      const partial = async () =>
        (await readdir(dirname(job.output))).filter((name) => name.includes('.partial'));
      expect(await partial()).toHaveLength(1);
      expect(await job.enrich()).toMatchObject({ run, found: 'done', publishedAgain: null });
      expect(await partial()).toEqual([]);
      expect(await readFile(job.output)).toEqual(before);
    });
  });

  it('keeps no file that it has uploaded, where a kill came before the last of them was removed', async () => {
    await withLocalJob({ names: fineNames(30), config: { reuse: { maxAge: '90d' } } }, async (job) => {
      const { run } = await job.enrich();
      const kept = join(job.config().stateDir, 'runs', run, 'chunk-000001.csv');
      await writeFile(kept, 'record_id,name\n1,Shop\n');
      await job.enrich();
      expect(existsSync(kept)).toBe(false);
    });
  });
});

/** The number in the marker, or undefined without a marker. */
async function publicationOf({ output }: LocalJob): Promise<number | undefined> {
  const text = await readFile(`${output}._REHEARSAL`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text).publication;
}

/** Expects that a marker, if there is one, belongs to the output beside it. */
async function expectNoOldMarker({ output }: LocalJob): Promise<void> {
  const marker = await readFile(`${output}._REHEARSAL`, 'utf8').catch(() => undefined);
  if (marker === undefined) return;
  const sha256 = createHash('sha256')
    .update(await readFile(output))
    .digest('hex');
  expect(JSON.parse(marker).output.sha256).toBe(sha256);
}
