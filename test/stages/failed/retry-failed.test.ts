/** Rounds stage by stage: what is cut, what is restored, and what happens to results that are damaged meanwhile. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sendRound } from '../../../pipelines/answer-failed.js';
import { budgetAt } from '../../../src/config/sections/calendar.js';
import { AmbiguousUploadError, FolioLostError, OutageError } from '../../../src/errors.js';
import { readChunkBlock } from '../../../src/stages/chunk/chunk-content.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts } from '../../../src/stages/download/download-parts.js';
import { closeRound, isRoundCut, retryFailed } from '../../../src/stages/failed/retry-failed.js';
import { openChunkAnswers } from '../../../src/stages/merge/chunk-answers.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { appendMerged } from '../../../src/stages/publish/publish-output.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { createAttemptsApi, createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  createStageRun,
  downloadAll,
  inNewProcess,
  nothing,
  refetching,
  type StageRun,
} from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

/** Of seven records in chunks of two, 2, 3 and 7 fail at first, and 3 once more. */
const outcomes = [[true], [false, true], [false, false, true], [true], [true], [true], [false, true]];

async function mergedRun(service = createAttemptsApi(outcomes)): Promise<StageRun> {
  const run = await createStageRun(await folder(), {
    records: outcomes.length,
    api: service.api,
    config: { failures: { tolerate: '100%' } },
  });
  await downloadAll(run);
  await appendMerged(run)(mergeResults(run)(nothing()));
  return run;
}

const open = (run: StageRun) => ({
  ...refetching(run),
  found: 'continued' as const,
  close: async () => undefined,
});

async function mergedCodes(run: StageRun): Promise<string[]> {
  const rows = await collect(mergeResults(refetching(run))(nothing()));
  const lines = rows.flatMap(({ bytes }) => bytes.toString().trimEnd().split('\n'));
  return lines.map((line) => line.split(',').slice(4).join('').trim());
}

async function removeParts(run: StageRun, chunk: number): Promise<void> {
  const runFolder = join(run.config.stateDir, 'runs', run.id);
  const parts = (await readdir(runFolder)).filter((name) => name.startsWith(`part-00000${chunk}`));
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) await rm(join(runFolder, part));
}

describe('a round', () => {
  it('is cut from what failed, under new numbers, with the records picked', async () => {
    const run = await mergedRun();
    const chunks = await collect(retryFailed(run, 1)());
    expect(
      chunks.map(({ number, round, records, firstRecord, lastRecord }) => [
        number,
        round,
        records,
        [firstRecord, lastRecord],
      ]),
    ).toEqual([
      [5, 1, 2, [2, 3]],
      [6, 1, 1, [7, 7]],
    ]);
    expect(await run.checkpoint.pickedRecords(run.id, 5)).toEqual([2, 3]);
    expect((await run.checkpoint.run(run.id))!.chunks).toBe(6);
    // What is cut is given again, and nothing is cut twice.
    expect(await collect(retryFailed(run, 1)())).toEqual(chunks);
  });

  it('is cut from the failed parts alone once the chunks are merged', async () => {
    const run = await mergedRun();
    const runFolder = join(run.config.stateDir, 'runs', run.id);
    for (const name of await readdir(runFolder)) {
      if (name.includes('-successful-')) await rm(join(runFolder, name));
    }
    const chunks = await collect(retryFailed(run, 1)());
    expect(chunks.map(({ firstRecord, lastRecord }) => [firstRecord, lastRecord])).toEqual([
      [2, 3],
      [7, 7],
    ]);
  });

  it('is cut from joined results where a failed part is damaged', async () => {
    const run = await mergedRun();
    const runFolder = join(run.config.stateDir, 'runs', run.id);
    const failed = (await readdir(runFolder)).filter((name) => name.includes('-failed-')).sort();
    await rm(join(runFolder, failed[1]!));
    const chunks = await collect(retryFailed(refetching(run), 1)());
    expect(chunks.map(({ firstRecord, lastRecord }) => [firstRecord, lastRecord])).toEqual([
      [2, 3],
      [7, 7],
    ]);
  });

  it('goes on where its files are lost: they are cut again as they were', async () => {
    const run = await mergedRun();
    for (const { number } of await collect(retryFailed(run, 1)())) await run.files.removeChunk(number);
    expect(await sendRound(open(run))).toBe(true);
    expect(await mergedCodes(run)).toEqual(['c1.1', 'c2.2', 'r3.2', 'c4.1', 'c5.1', 'c6.1', 'c7.2']);
  });

  it('is not cut on once uploads are stopped', async () => {
    const run = await mergedRun();
    const cutting = retryFailed(run, 1)();
    await cutting.next();
    run.uploads.stopped = true;
    expect((await cutting.next()).done).toBe(true);
    await expect(sendRound(open(run))).rejects.toMatchObject({ exitCode: 5 });
  });

  it('of which nothing is left to send is none', async () => {
    const run = await mergedRun();
    expect(await sendRound(open(run))).toBe(true);
    expect(await sendRound(open(run))).toBe(true);
    expect(await sendRound(open(run))).toBe(false);
    expect(await run.checkpoint.run(run.id)).toMatchObject({ round: 2, state: 'open' });
  });

  it('fetches results anew that are damaged, though their rows are written', async () => {
    const run = await mergedRun();
    await removeParts(run, 2);
    expect(await sendRound(open(run))).toBe(true);
    expect(await mergedCodes(run)).toEqual(['c1.1', 'c2.2', 'r3.2', 'c4.1', 'c5.1', 'c6.1', 'c7.2']);
    expect(run.log.join('\n')).toContain('chunk 2: ');
  });
});

describe('a round sends no record', () => {
  it('that has succeeded in an earlier one, though all rows are written since then', async () => {
    const service = createAttemptsApi(outcomes);
    const run = await mergedRun(service);
    expect(await sendRound(open(run))).toBe(true);
    const later = inNewProcess(run);
    await appendMerged(later)(mergeResults(later)(nothing()));
    expect(await sendRound(open(later))).toBe(true);
    expect([2, 3, 7].map((number) => service.attempts.get(number))).toEqual([2, 3, 2]);
  });

  it('that a search has answered', async () => {
    const run = await mergedRun();
    await run.checkpoint.recordSearchIntent(run.id, 7, 1, budgetAt(run.config.budget, 1));
    await run.checkpoint.recordSearchEnd(run.id, 7, { state: 'answered', values: { code: 's7' } });
    await collect(retryFailed(run, 1)());
    expect(await run.checkpoint.pickedRecords(run.id, 5)).toEqual([2, 3]);
    expect((await run.checkpoint.run(run.id))!.chunks).toBe(5);
  });

  it('that the service has refused by itself', async () => {
    const run = await createStageRun(await folder(), {
      records: 3,
      api: createAttemptsApi([[true], [true], [false, true]]).api,
      config: { chunks: { maxRecords: 1 }, failures: { tolerate: '100%' } },
    });
    const [first, second, third] = await collect(chunkRecords(run)());
    await run.checkpoint.recordRefused(run.id, second!.number, 'not ours');
    const others = async function* () {
      yield* [first!, third!];
    };
    await collect(downloadParts(run)(trackFolios(run)(submitChunks(run)(others()))));
    await appendMerged(run)(mergeResults(run)(nothing()));
    const chunks = await collect(retryFailed(run, 1)());
    expect(chunks.map(({ firstRecord, records }) => [firstRecord, records])).toEqual([[3, 1]]);
  });
});

describe('the end of a round', () => {
  it('is not before all its records are cut, and all its chunks are answered', async () => {
    const run = await mergedRun();
    expect(await isRoundCut(run, 1)).toBe(false);
    const cutting = retryFailed(run, 1)();
    await cutting.next();
    expect(await isRoundCut(run, 1)).toBe(false);
    await cutting.next();
    expect(await isRoundCut(run, 1)).toBe(true);
    await expect(closeRound(run, 1)).rejects.toMatchObject({ exitCode: 5 });
    expect((await run.checkpoint.run(run.id))!.round).toBe(0);
  });

  it('says how many were sent again, and how many are successful now', async () => {
    const run = await mergedRun();
    await sendRound(open(run));
    expect(run.log.filter((line) => line.includes('round 1'))).toEqual([
      'info round 1: the failed records are sent again',
      'info round 1: 3 failed records sent again, 2 successful now',
    ]);
  });
});

describe('records that the service may have from an earlier round', () => {
  /** A run whose first chunk of round 1, with the records 2 and 3, is held. */
  const held = async (doubt: 'no-reply' | 'unreadable') => {
    const service = createAttemptsApi(outcomes);
    let uploads = 0;
    const upload: StageRun['api']['upload'] = async (...args) => {
      uploads += 1;
      if (uploads !== 5) return service.api.upload(...args);
      throw new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'no reply', { doubt });
    };
    const run = await mergedRun({ ...service, api: { ...service.api, upload } });
    expect(await sendRound(open(withPolicy(run, 'hold')))).toBe(true);
    return { run, attempts: () => [2, 3, 7].map((number) => service.attempts.get(number)) };
  };
  const withPolicy = (run: StageRun, policy: 'hold' | 'resubmit', maxRecords = 100) => {
    const config = { ...run.config, ambiguous: { policy, maxRecords } };
    return { ...run, config };
  };

  it('are not sent in a later one while ambiguous.policy is hold, or more of them are not allowed', async () => {
    const { run, attempts } = await held('no-reply');
    expect(await sendRound(open(withPolicy(run, 'hold')))).toBe(false);
    expect(await sendRound(open(withPolicy(run, 'resubmit', 1)))).toBe(false);
    expect(attempts()).toEqual([1, 1, 2]);
    expect(await sendRound(open(withPolicy(run, 'resubmit', 2)))).toBe(true);
    expect(attempts()).toEqual([2, 2, 2]);
  });

  it('are never sent again if the reply could not be read', async () => {
    const { run, attempts } = await held('unreadable');
    expect(await sendRound(open(withPolicy(run, 'resubmit')))).toBe(false);
    expect(attempts()).toEqual([1, 1, 2]);
  });
});

it('a round whose records are confused with each other is not trusted if they are too many with the earlier ones', async () => {
  const merged = async (...failed: readonly string[]) => {
    const names = [...Array.from({ length: 36 }, (_, at) => `own ${at}`), 'A', 'A', ...failed];
    const results: Behaviour['results'] = (sent, { id }) =>
      sent.map((one, at) =>
        id === 'F1' && failed.includes(one.sent.name!)
          ? { ...one, status: 'FAILED', added: { reason: 'nothing fits' } }
          : { ...one, status: 'SUCCESSFUL', added: { code: `${id}.${at}` } },
      );
    const run = await createStageRun(await folder(), {
      source: `name,address\n${names.map((name) => `${name},Main St\n`).join('')}`,
      config: {
        upload: { columns: { name: 'name' }, keyColumn: null },
        chunks: { maxRecords: 40 },
        failures: { tolerate: '100%' },
      },
      api: createFakeApi({ results }),
    });
    await downloadAll(run);
    await appendMerged(run)(mergeResults(run)(nothing()));
    await sendRound(open(run));
    return collect(mergeResults(run)(nothing()));
  };
  const refused = { code: 'RESULTS_INDISTINCT', exitCode: 6, facts: { chunk: 1 } };
  await expect(merged('B', 'B')).rejects.toMatchObject(refused);
  expect(await merged('B', 'C')).toHaveLength(1);
});

describe('results of a closed round that are damaged', () => {
  const damaged = async (trouble?: Error): Promise<StageRun> => {
    const service = createAttemptsApi(outcomes);
    let isDamaged = false;
    const api = {
      ...service.api,
      download: ((...args) =>
        isDamaged && trouble !== undefined
          ? Promise.reject(trouble)
          : service.api.download(...args)) as StageRun['api']['download'],
    };
    const run = await mergedRun({ ...service, api });
    await sendRound(open(run));
    await removeParts(run, 5);
    isDamaged = true;
    return run;
  };

  it('are fetched again', async () => {
    const run = await damaged();
    expect(await mergedCodes(run)).toEqual(['c1.1', 'c2.2', 'r3.2', 'c4.1', 'c5.1', 'c6.1', 'c7.2']);
  });

  it('leave the older answers where the service has forgotten them', async () => {
    const run = await damaged(new FolioLostError('FOLIO_LOST', 'forgotten'));
    expect(await mergedCodes(run)).toEqual(['c1.1', 'r2.1', 'r3.1', 'c4.1', 'c5.1', 'c6.1', 'c7.2']);
    expect(run.log.join('\n')).toContain('2 records still FAILED');
  });

  it('hold back the rows while the service is out, and are never passed over', async () => {
    const run = await damaged(new OutageError('SERVICE_UNAVAILABLE', 'out'));
    expect(await mergedCodes(run)).toEqual([]);
    expect(run.deferred.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    // As versions before 0.1.0 left it when it was killed while it fetched the chunk anew.
    const nextChunk: StageRun['checkpoint']['nextChunk'] = async (...args) => {
      const chunk = await run.checkpoint.nextChunk(...args);
      return chunk?.number === 5 ? { ...chunk, state: 'finished' } : chunk;
    };
    const older = { ...run, checkpoint: { ...run.checkpoint, nextChunk }, deferred: { error: undefined } };
    expect(await mergedCodes(older)).toEqual([]);
    expect(older.deferred.error).toMatchObject({ code: 'ANSWERS_FETCHED_ANEW', exitCode: 5 });
  });

  it('leave no later record FAILED either, for a caller that passes over a chunk: its answer may be lost as well', async () => {
    const run = await damaged(new OutageError('SERVICE_UNAVAILABLE', 'out'));
    const answers = await openChunkAnswers(refetching(run), { columns: ['code'] });
    const ends: string[] = [];
    for (const number of [1, 2, 3, 4]) {
      const chunk = (await run.checkpoint.chunk(run.id, number))!;
      const found = answers.forChunk(chunk, await readChunkBlock(run, chunk));
      ends.push(
        await found.then(
          () => 'found',
          ({ code }) => code,
        ),
      );
    }
    await answers.close();
    // No record of the third chunk was sent again.
    expect(ends).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'found', 'SERVICE_UNAVAILABLE']);
  });
});
