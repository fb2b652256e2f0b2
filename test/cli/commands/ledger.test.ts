/** The table of `foliopipe ledger` where a run has many uploads. */
import { mkdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { addChunk, beginUpload, sampleReply } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const folder = useSharedFolder();

it('adds up plain uploads, and lists each upload with --uploads and in JSON', async () => {
  const settings = { budget: { pricePerRecord: 0.5, timeZone: 'UTC' } };
  const job = await createJob(await folder(), { baseUrl: 'http://127.0.0.1:9', settings });
  await mkdir(job.stateDir, { mode: 0o700 });
  const checkpoint = await openSqliteCheckpoint(job.stateDir);
  const [run, at] = ['20261121T031002-4f9c1a', Date.UTC(2026, 10, 21, 3, 10)];
  await checkpoint.recordRun(sampleRun(run, { createdAt: at }));
  for (let chunk = 1; chunk <= 21; chunk++) {
    await addChunk(checkpoint, run, chunk, 'cut');
    await beginUpload(checkpoint, run, chunk, at);
    await checkpoint.recordAccepted(run, chunk, sampleReply(chunk), at);
  }
  await addChunk(checkpoint, run, 22, 'cut');
  await beginUpload(checkpoint, run, 22, at);
  await checkpoint.recordAmbiguous(run, 22, at, 'no-reply');
  await checkpoint.close();

  const ledger = async (...flags: string[]) =>
    (await callMain(['ledger', job.config, ...flags], { env: job.env })).stdout;
  expect(await ledger()).toBe(`  time         chunk  try  records     price  folio
${run}  nightly
  11-21 03:10                  210    105.00  21 uploads
  11-21 03:10     22    1       10      5.00  ?                paid?
22 uploads, 220 records to pay, cost 110.00 USD at 0.5 a record
10 records of these possibly paid for twice or in vain
`);
  const listed = (await ledger('--uploads')).split('\n');
  expect(listed).toHaveLength(27);
  expect(listed.slice(-3)).toEqual((await ledger()).split('\n').slice(-3));
  expect(jsonLines(await ledger('--json'))).toHaveLength(23);
});

it('shows no price of a rehearsal, which costs nothing', async () => {
  const job = await createJob(await folder(), { baseUrl: 'http://127.0.0.1:9' });
  await mkdir(job.stateDir, { recursive: true, mode: 0o700 });
  const checkpoint = await openSqliteCheckpoint(job.stateDir);
  const [run, at] = ['20261121T031002-4f9c1b', Date.UTC(2026, 10, 21, 3, 10)];
  await checkpoint.recordRun(sampleRun(run, { createdAt: at }));
  await addChunk(checkpoint, run, 1, 'cut');
  await beginUpload(checkpoint, run, 1, at);
  await checkpoint.recordAccepted(run, 1, { ...sampleReply(1), rehearsal: true }, at);
  await checkpoint.close();
  const { stdout } = await callMain(['ledger', job.config], { env: job.env });
  expect(stdout).toMatch(/ 1 {4}1 {7}10 {9}- {2}\S+\n/);
});
