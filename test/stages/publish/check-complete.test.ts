/** What an incomplete run lacks is named; what it does not lack is not counted as 0. */
import { describe, expect, it } from 'vitest';
import type { ChunkState } from '../../../src/checkpoint/checkpoint.js';
import { InterruptedError, OutageError } from '../../../src/errors.js';
import {
  checkAllCollected,
  checkAllDownloaded,
  checkAllMerged,
  checkAllSubmitted,
} from '../../../src/stages/publish/check-complete.js';
import { addChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

it('a source without any chunk yet', async () => {
  const run = await createStageRun(await folder());
  await expect(checkAllMerged(run)).rejects.toMatchObject({
    code: 'CHUNKS_MISSING',
    message: `run ${run.id}: the end of the source is not cut into chunks yet`,
    hint: expect.stringContaining('foliopipe run submits the rest'),
  });
});

it('rows, although all chunks are answered', async () => {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  await expect(checkAllMerged(run)).rejects.toMatchObject({
    code: 'CHUNKS_MISSING',
    message: `run ${run.id}: all chunks are answered, but only 0 records can be merged`,
    hint: expect.stringContaining('report it'),
  });
});

describe('a run with a downloaded chunk and another one', () => {
  const runWith = async (state: ChunkState, isAllCut = true) => {
    const run = await createStageRun(await folder(), { records: 20 });
    await addChunk(run.checkpoint, run.id, 1, 'downloaded');
    await addChunk(run.checkpoint, run.id, 2, state);
    if (isAllCut) await run.checkpoint.recordAllCut(run.id);
    return run;
  };
  const codeOf = (check: Promise<void>) =>
    check.then(
      () => 'passes',
      ({ code }) => code,
    );

  it.each<[ChunkState, submitted: string, collected: string, downloaded: string]>([
    ['cut', 'CHUNKS_MISSING', 'passes', 'CHUNKS_MISSING'],
    ['uploading', 'CHUNKS_MISSING', 'passes', 'CHUNKS_MISSING'],
    ['ambiguous', 'CHUNKS_AMBIGUOUS', 'passes', 'CHUNKS_AMBIGUOUS'],
    ['submitted', 'passes', 'CHUNKS_MISSING', 'FOLIOS_TIMED_OUT'],
    ['finished', 'passes', 'CHUNKS_MISSING', 'CHUNKS_MISSING'],
    ['downloaded', 'passes', 'passes', 'passes'],
    ['unprocessed', 'passes', 'passes', 'passes'],
  ])('that is %s', async (state, submitted, collected, downloaded) => {
    const run = await runWith(state);
    expect(await codeOf(checkAllSubmitted(run))).toBe(submitted);
    expect(await codeOf(checkAllCollected(run))).toBe(collected);
    expect(await codeOf(checkAllDownloaded(run))).toBe(downloaded);
  });

  it('lacks chunks while its source is not cut to its end', async () => {
    const run = await runWith('downloaded', false);
    expect(await codeOf(checkAllSubmitted(run))).toBe('CHUNKS_MISSING');
    expect(await codeOf(checkAllDownloaded(run))).toBe('CHUNKS_MISSING');
  });

  it('ends with what has stopped it, and with an outage before that', async () => {
    const run = await runWith('cut');
    const stopped = new InterruptedError();
    run.controller.abort(stopped);
    await expect(checkAllSubmitted(run)).rejects.toBe(stopped);
    const outage = new OutageError('SERVICE_OUTAGE', 'gone', { hint: 'wait' });
    run.deferred.error = outage;
    await expect(checkAllSubmitted(run)).rejects.toBe(outage);
    const whole = { ...(await runWith('downloaded')), deferred: { error: outage } };
    await expect(checkAllDownloaded(whole)).rejects.toBe(outage);
  });
});
