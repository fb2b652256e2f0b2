import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { nightOf, summarizeRun } from '../../src/report/run-summary.js';
import { mergeResults } from '../../src/stages/merge/merge-results.js';
import { publishOutput } from '../../src/stages/publish/publish-output.js';
import { sampleNight, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import { useFolder } from '../helpers/folders/folders.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';
import { createStageRun, downloadAll, nothing } from '../helpers/stages/stage-run.js';

const folder = useFolder();

it('a summary says what was read, bought and published, and nothing of an output that is not there yet', async () => {
  const run = await createStageRun(await folder());
  const summary = () => summarizeRun(run, run.id, 'new');
  await downloadAll(run);
  expect(await summary()).toMatchObject({
    state: 'open',
    exitCode: null,
    output: null,
    manifest: null,
    marker: null,
    finishedAt: null,
    counts: { read: 6, successful: 0, failed: 0, unprocessed: 0, rejected: 0 },
    origins: { sent: { records: 6, successful: 0 }, reused: { records: 0 }, duplicates: { records: 0 } },
    outdated: null,
    chunks: { all: 3, byState: { downloaded: 3 } },
    uploads: { accepted: 3, ambiguous: 0, resubmitted: 0 },
  });
  const publication = (await publishOutput(run)(mergeResults(run)(nothing())))!;
  const { path } = run.config.output;
  expect(await summary()).toMatchObject({
    run: run.id,
    pipeline: 'nightly',
    state: 'done',
    exitCode: 0,
    rehearsal: false,
    counts: { read: 6, successful: 6, failed: 0, unprocessed: 0, rejected: 0 },
    origins: { sent: { records: 6, successful: 6 }, reused: { records: 0 }, duplicates: { records: 0 } },
    saved: { records: 0 },
    columns: ['code'],
    output: { path, bytes: publication.bytes, records: 6, sha256: publication.sha256, inPlace: true },
    manifest: `${path}.manifest.json`,
    marker: `${path}._SUCCESS`,
  });
  await rm(path);
  expect((await summary()).output?.inPlace).toBe(false);
});

it('a night of long ago is known, with the nights before it', async () => {
  const checkpoint = createMemoryCheckpoint();
  const counts = { ...sampleNight.counts, read: 5000 };
  for (let at = 1; at <= 120; at++) {
    const night = { ...sampleNight, began: at, counts };
    await checkpoint.recordRun(sampleRun(`r${at}`));
    await checkpoint.recordPublishing(`r${at}`, { ...samplePublication, sha256: `${at}`, night });
    await checkpoint.recordDone(`r${at}`, at);
  }
  const found = await nightOf(checkpoint, 'nightly', 3);
  expect(found?.night).toMatchObject({ run: 'r3', began: 3 });
  expect(found?.before.map(({ run }) => run)).toEqual(['r2', 'r1']);
  expect(await nightOf(checkpoint, 'nightly', 121)).toBeUndefined();
});
