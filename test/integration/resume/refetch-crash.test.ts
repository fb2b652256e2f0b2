/** Killed while stored parts are replaced: afterwards either all old parts or all new parts are stored. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { openCheckpointReader } from '../../../pipelines/index.js';
import { fineNames, type LocalJob, predictedCode, withLocalJob } from '../../helpers/jobs/local-job.js';
import { killCliAt } from '../../helpers/processes/cli.js';

/** Two chunks, so that no upload is in flight when parts are fetched again. */
const names = fineNames(20);
const once = (records: object) => [{ on: 'download', folio: 2, folioCalls: 1, fault: { records } }];
/** The second folio belongs to the second chunk. */
const inOrder = { concurrency: { uploads: 1 } };
const limit = pLimit(2);

/** The error in the first answer, because of which the parts are fetched once more. */
const wrongs: Readonly<Record<string, readonly object[]>> = {
  'does not balance': once({ missing: 1 }),
  'does not match': once({ missing: 1, strange: 1 }),
};
const windows = ['after-refetch-before-swap', 'after-swap-before-removal'] as const;
const cases = windows.flatMap((window) => Object.keys(wrongs).map((wrong) => [window, wrong] as const));

describe('a kill while a chunk is fetched again', () => {
  it.concurrent.each(cases)('%s, because it %s', (window, wrong) =>
    limit(() =>
      withLocalJob({ rules: wrongs[wrong]!, names, config: inOrder }, async (job) => {
        await killCliAt(window, ['run', job.file]);
        await expectWhole(job, window === 'after-swap-before-removal');

        expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { successful: 20 } });
        const codes = (await job.rows()).map(({ prediction_naics_code: code }) => code);
        expect(codes).toEqual(names.map(predictedCode));
        expect(new Set((await job.timesPaid()).values())).toEqual(new Set([1]));
      }),
    ),
  );
});

/** Expects every part of the second chunk on the disk as the checkpoint knows it. */
async function expectWhole(job: LocalJob, isReplaced: boolean): Promise<void> {
  const { stateDir } = job.config();
  const reader = (await openCheckpointReader(stateDir))!;
  try {
    const run = (await reader.latestRun('nightly'))!;
    const folder = join(stateDir, 'runs', run.id);
    const files = (await readdir(folder)).filter((name) => name.startsWith('part-000002-'));
    const hashes = await Promise.all(
      files.map(async (name) => {
        const content = gunzipSync(await readFile(join(folder, name)));
        return createHash('sha256').update(content).digest('hex');
      }),
    );
    const parts = await reader.parts(run.id, 2);
    expect(parts).toHaveLength(1);
    // The old and the new part, beside each other.
    expect(hashes).toHaveLength(2);
    expect(hashes).toContain(parts[0]!.sha256);
    const content = gunzipSync(await readFile(join(folder, files[hashes.indexOf(parts[0]!.sha256)]!)));
    const answered = content.toString().trimEnd().split('\n').length - 1;
    const isWrong = answered !== 10 || /strange|99999/.test(content.toString());
    expect(isWrong).toBe(!isReplaced);
  } finally {
    await reader.close();
  }
}
