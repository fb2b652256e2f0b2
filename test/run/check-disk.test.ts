/** Room on the disk before a run pays. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkDisk } from '../../src/run/check-disk.js';
import type { Source } from '../../src/types.js';
import { sampleChoice, sampleSource } from '../helpers/checkpoint/samples.js';
import { useFolder } from '../helpers/folders/folders.js';
import { createStageRun } from '../helpers/stages/stage-run.js';

const folder = useFolder();

const sourceOf = (bytes: number, gzip = false): Source => {
  const source = sampleSource();
  const [file] = source.files;
  return { ...source, files: [{ ...file!, bytes, dialect: { ...file!.dialect, gzip } }] };
};

it('a source that fits is no trouble, though the folders do not exist yet', async () => {
  const { config } = await createStageRun(await folder());
  const deep = join(config.stateDir, 'not', 'there');
  const output = { ...config.output, path: join(deep, 'out.csv') };
  await checkDisk({ stateDir: deep, output }, sourceOf(1_000), sampleChoice);
});

it.each([
  ['more than the disk has', sourceOf(1e18)],
  ['a quarter of it, zipped', sourceOf(1e17, true)],
])('%s is an error that says how much is there and how much is needed', async (_, source) => {
  const { config } = await createStageRun(await folder());
  const checked = checkDisk(config, source, sampleChoice);
  await expect(checked).rejects.toMatchObject({
    code: 'DISK_TOO_SMALL',
    exitCode: 5,
    message: expect.stringMatching(/ has [\d.]+ .B free, and the run needs about [\d.,]+ .B there for /),
  });
});
