/** The room that a killed process has kept for replies is given back when its run ends. */
import { existsSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { JobEvent } from '../../../pipelines/index.js';
import { withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour } from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

it.each(['superseded', 'done'])('of a run that is %s', async (state) => {
  await withJob({ behaviour }, async (job) => {
    let killed = '';
    const onProgress = (event: JobEvent) => {
      if (event.type === 'run') killed = event.run;
    };
    const at = throwAt('after-last-merge-before-publishing');
    expect(await job.failure({}, { at, onProgress })).toMatchObject({ message: 'killed' });
    const reserve = path.join(job.folder, '.foliopipe/runs', killed, 'reserve');
    // As after a kill: a process that ends by itself removes it.
    expect(existsSync(reserve)).toBe(false);
    writeFileSync(reserve, Buffer.alloc(1024 * 1024));
    if (state === 'superseded') await writeFile(job.sourcePath, sourceText(50));
    const { run } = await job.enrich({ source: { onChange: 'supersede' } });
    expect(run === killed).toBe(state === 'done');
    expect(existsSync(reserve)).toBe(false);
  });
});
