import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import type { PredictionApi } from '../../../src/api/prediction-api.js';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { FolioLostError, UntrustedError } from '../../../src/errors.js';
import { DamagedPartError } from '../../../src/files/run-files.js';
import { MAX_PART_BYTES } from '../../../src/results/part-table.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts, fetchParts } from '../../../src/stages/download/download-parts.js';
import { refetchParts } from '../../../src/stages/download/refetch-parts.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { readWhole } from '../../../src/streams/read-pieces.js';
import type { PartReference } from '../../../src/types.js';
import { contentOf, createFakeApi, report } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';
import { turns } from '../../helpers/streams/gates.js';

const folder = useFolder();
const parts: PartReference[] = [
  { fileStatus: 'SUCCESSFUL', part: 0 },
  { fileStatus: 'FAILED', part: 4 },
];
const good: Record<string, string> = {
  'SUCCESSFUL 0': 'id,code\n1,c1\n',
  'FAILED 4': 'id,reason\n2,"no\nway"\n',
};

/** One finished chunk of two records; `content` gives what the nth download of a part holds. */
async function finished(content: (part: string, nth: number) => string | Error) {
  const service = createFakeApi();
  const download: PredictionApi['download'] = async ({ fileStatus, part }, consume) => {
    const name = `${fileStatus} ${part}`;
    service.asked.push(name);
    const given = content(name, service.asked.filter((asked) => asked === name).length);
    if (given instanceof Error) throw given;
    return consume(contentOf(given.slice(0, 7), given.slice(7)), { rehearsal: false });
  };
  const track: PredictionApi['track'] = async () => {
    service.asked.push('track');
    return report('FINISHED', 1, { counts: { successful: 1, failed: 1 }, failedPart: 4 });
  };
  const run = await createStageRun(await folder(), { records: 2, api: { ...service, download, track } });
  await collect(submitChunks(run)(chunkRecords(run)()));
  await run.checkpoint.recordFinished(run.id, 1, { successful: 1, failed: 1 }, parts);
  service.asked.length = 0;
  return { run, chunk: await chunkOf(run) };
}

async function chunkOf(run: StageRun): Promise<ChunkRow> {
  return (await run.checkpoint.chunk(run.id, 1))!;
}

describe('fetching', () => {
  it('stores every listed part with its counts, and the chunk is downloaded', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    await fetchParts(run, chunk);
    expect(await chunkOf(run)).toMatchObject({ state: 'downloaded' });
    const stored = await run.checkpoint.parts(run.id, 1);
    expect(stored.map(({ fileStatus, part, records }) => [fileStatus, part, records])).toEqual([
      ['SUCCESSFUL', 0, 1],
      ['FAILED', 4, 1],
    ]);
    expect((await readWhole(run.files.readPart(1, stored[1]!))).toString()).toBe(good['FAILED 4']);
  });

  it('asks only for what is not stored yet', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    const cut = new Error('killed');
    let commits = 0;
    const at = (point: string) => {
      if (point === 'after-part-file-before-commit' && ++commits === 2) throw cut;
    };
    // Parts that come at the same time share a commit.
    const download: PredictionApi['download'] = async (request, ...rest) => {
      if (request.fileStatus === 'FAILED') await vi.waitUntil(() => commits === 1);
      return run.api.download(request, ...rest);
    };
    const api = { ...run.api, download };
    await expect(fetchParts({ ...run, at, api }, chunk)).rejects.toBe(cut);
    const [stored] = await run.checkpoint.parts(run.id, 1);
    await fetchParts(run, await chunkOf(run));
    const missing = stored!.fileStatus === 'FAILED' ? 'SUCCESSFUL 0' : 'FAILED 4';
    expect(run.api.asked).toEqual(['SUCCESSFUL 0', 'FAILED 4', missing]);
    expect(await chunkOf(run)).toMatchObject({ state: 'downloaded' });
  });
});

describe('parts that are fetched at the same time', () => {
  /** One finished chunk of twelve parts; `each` is called with each download, and may fail it. */
  async function many(each: (part: number, signal: AbortSignal) => Promise<void>) {
    const { run, chunk } = await finished(() => '');
    const listed = Array.from({ length: 12 }, (_, part) => ({ fileStatus: 'SUCCESSFUL' as const, part }));
    const working = { inFlight: 0, most: 0, begun: 0 };
    const download: PredictionApi['download'] = async ({ part }, consume, signal) => {
      working.begun += 1;
      working.most = Math.max(working.most, ++working.inFlight);
      try {
        await each(part, signal);
        return await consume(contentOf(`id,code\n${part},c\n`), { rehearsal: false });
      } finally {
        working.inFlight -= 1;
      }
    };
    const checkpoint = { ...run.checkpoint, listedParts: async () => listed };
    return { run: { ...run, checkpoint, api: { ...run.api, download } }, chunk, working };
  }

  it('are as many as concurrency.downloads, and all are stored', async () => {
    const { run, chunk, working } = await many(() => turns(3));
    const stored: number[] = [];
    const recordParts = async (_: string, __: number, some: readonly PartReference[]) =>
      void stored.push(...some.map(({ part }) => part));
    const checkpoint = { ...run.checkpoint, recordParts };
    const error = await fetchParts({ ...run, checkpoint }, { ...chunk, records: 12 }).catch(String);
    expect(working.most).toBe(4);
    expect(stored.sort((a, b) => a - b).slice(0, 12)).toEqual(Array.from({ length: 12 }, (_, part) => part));
    // The folio says that it has one record of each kind.
    expect(error).toContain('MismatchError');
  });

  it('are on the disk before they are recorded, several by one sync and one commit', async () => {
    const { run, chunk } = await many(() => turns(3));
    const written: number[] = [];
    const settled = new Set<number>();
    let syncs = 0;
    const files: typeof run.files = {
      ...run.files,
      writePart: async (number, part, content) => {
        const one = await run.files.writePart(number, part, content);
        written.push(part.part);
        return one;
      },
      syncParts: async () => {
        const some = [...written];
        syncs += 1;
        await turns(2);
        for (const part of some) settled.add(part);
      },
    };
    const early: number[] = [];
    let commits = 0;
    const recordParts = async (_: string, __: number, some: readonly PartReference[]) => {
      commits += 1;
      for (const { part } of some) if (!settled.delete(part)) early.push(part);
    };
    const checkpoint = { ...run.checkpoint, recordParts, parts: async () => [] };
    const twelve = { ...chunk, records: 12, counts: { successful: 12, failed: 0 } };
    await fetchParts({ ...run, files, checkpoint }, twelve).catch(() => undefined);
    expect(early).toEqual([]);
    expect(written.length).toBeGreaterThanOrEqual(12);
    expect(syncs).toBeLessThan(written.length);
    expect(commits).toBe(syncs);
  });

  it('are as many for all chunks together, also where all of them are fetched once more', async () => {
    const { run, chunk, working } = await many(() => turns(3));
    const checkpoint = {
      ...run.checkpoint,
      recordParts: async () => undefined,
      parts: async () => [],
      recordRefetched: async (_: string, number: number) => ({ ...chunk, number }),
    };
    const listed = Array.from({ length: 12 }, (_, part) => part);
    const track: PredictionApi['track'] = async () =>
      report('FINISHED', 12, { counts: { successful: 12, failed: 0 }, successfulParts: listed });
    const chunks = [1, 2, 3, 4].map((number) => ({ ...chunk, number, records: 12 }));
    await collect(downloadParts({ ...run, checkpoint, api: { ...run.api, track } })(Readable.from(chunks)));
    expect(working.begun).toBe(4 * 12 * 2);
    expect(working.most).toBe(4);
  });

  it('end when one of them fails, before the chunk is given up', async () => {
    const lost = new FolioLostError('FOLIO_LOST', 'forgotten');
    const ended: number[] = [];
    const { run, chunk, working } = await many(async (part, signal) => {
      if (part === 2) throw lost;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const at = () => void ended.push(working.inFlight);
    await expect(fetchParts({ ...run, at }, chunk)).rejects.toBe(lost);
    expect(working).toMatchObject({ inFlight: 0, begun: 4 });
    expect(ended).toEqual([]);
  });
});

it('takes no part that could not be read as a table', async () => {
  const { run, chunk } = await finished((part) => good[part]!);
  const asked: number[] = [];
  const download: PredictionApi['download'] = (request, consume) => {
    asked.push(request.maxBytes);
    return run.api.download(request, consume, run.signal);
  };
  const large = { ...chunk, bytes: MAX_PART_BYTES };
  await fetchParts({ ...run, api: { ...run.api, download } }, large);
  expect(asked).toEqual([MAX_PART_BYTES, MAX_PART_BYTES]);
});

describe('what a folio may hold', () => {
  const tooLarge = new UntrustedError('PART_TOO_LARGE', 'download: the part has too many bytes');

  it('is for all its parts together, those of an earlier process included', async () => {
    const { run, chunk } = await finished((part, nth) =>
      part === 'FAILED 4' && nth === 1 ? new Error('killed') : good[part]!,
    );
    const asked: number[] = [];
    const download: PredictionApi['download'] = async (request, consume) => {
      asked.push(request.maxBytes);
      if (request.fileStatus === 'FAILED')
        await vi.waitFor(async () => expect(await run.checkpoint.parts(run.id, 1)).toHaveLength(1));
      return run.api.download(request, consume, run.signal);
    };
    const watched = { ...run, api: { ...run.api, download } };
    await expect(fetchParts(watched, chunk)).rejects.toThrow('killed');
    await fetchParts(watched, await chunkOf(run));
    const all = 2 * chunk.bytes + 2 * 4096 + 1024 * 1024;
    expect(asked).toEqual([all, all, all - good['SUCCESSFUL 0']!.length]);
  });

  it('is for those together that are fetched at the same time', async () => {
    const half = `id,code\n${'1,c\n'.repeat(150_000)}`;
    const { run, chunk } = await finished(() => half);
    await expect(fetchParts(run, chunk)).rejects.toMatchObject({ code: 'FOLIO_TOO_LARGE', exitCode: 6 });
    expect(half.length).toBeLessThan(2 * chunk.bytes + 2 * 4096 + 1024 * 1024);
  });

  it('is refused with its chunk, folio and figures', async () => {
    const { run, chunk } = await finished((part) => (part === 'FAILED 4' ? tooLarge : good[part]!));
    await expect(fetchParts(run, chunk)).rejects.toMatchObject({
      code: 'FOLIO_TOO_LARGE',
      exitCode: 6,
      message: expect.stringMatching(
        /^chunk 1: folio F1 has more than 1\.01 MB in its parts up to FAILED part 4;/,
      ),
      facts: { chunk: 1, folio: chunk.folio, part: 4, fileStatus: 'FAILED' },
    });
    expect(run.api.asked).toEqual(['SUCCESSFUL 0', 'FAILED 4']);
  });

  it.each([
    ['', 1],
    [' although commas within quotes do not count', 0],
  ])('a part has at most a thousand columns more than were sent%s', async (_, tooMany) => {
    const names = Array.from({ length: 1000 + tooMany }, (__, at) => `"c,${at}"`);
    const sent = ['"id"', '"name"'];
    const { run, chunk } = await finished((part) =>
      part === 'SUCCESSFUL 0'
        ? `${[...sent, ...names].join(',')}\n${[...sent, ...names].map(() => '1').join(',')}\n`
        : good[part]!,
    );
    const end = await fetchParts(run, chunk).catch((error: unknown) => error);
    if (tooMany === 0) return expect(end).toMatchObject({ state: 'downloaded' });
    expect(end).toMatchObject({
      code: 'PART_TOO_WIDE',
      exitCode: 6,
      facts: { chunk: 1, folio: chunk.folio, part: 0, columns: sent.length + 1001 },
    });
    const stored = await run.checkpoint.parts(run.id, 1);
    expect(stored.filter(({ fileStatus }) => fileStatus === 'SUCCESSFUL')).toEqual([]);
  });
});

describe('parts that do not balance', () => {
  it('are fetched once more, all of them, and then trusted when they do', async () => {
    const { run, chunk } = await finished((part, nth) => (nth === 1 ? 'id,code\n' : good[part]!));
    await fetchParts(run, chunk);
    expect(run.api.asked).toEqual(['SUCCESSFUL 0', 'FAILED 4', 'track', 'SUCCESSFUL 0', 'FAILED 4']);
    expect(await chunkOf(run)).toMatchObject({ state: 'downloaded' });
    const stored = await run.checkpoint.parts(run.id, 1);
    expect((await readWhole(run.files.readPart(1, stored[0]!))).toString()).toBe(good['SUCCESSFUL 0']);
  });

  it.each([
    ['a record too few', 'id,code\n'],
    ['a record too many', 'id,code\n1,a\n1,b\n'],
    ['no byte at all', ''],
  ])('with %s are not trusted a second time', async (_, content) => {
    const { run, chunk } = await finished((part) => (part === 'SUCCESSFUL 0' ? content : good[part]!));
    const error = await fetchParts(run, chunk).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({
      code: 'CHUNK_UNBALANCED',
      message: expect.stringContaining('2 records sent, the service counts 1 successful and 1 failed'),
      facts: { chunk: 1, folio: 'F1' },
    });
    expect(await chunkOf(run)).toMatchObject({ state: 'finished' });
    expect(run.api.asked.filter((asked) => asked === 'SUCCESSFUL 0')).toHaveLength(2);
  });

  it('stay where they are when the folio is lost meanwhile, and the chunk is not given up', async () => {
    const { run, chunk } = await finished((part) => (part === 'SUCCESSFUL 0' ? 'id,code\n' : good[part]!));
    const lost = new FolioLostError('FOLIO_LOST', 'folio F1 is not known');
    const api = { ...run.api, track: () => Promise.reject(lost) };
    const error = await collect(downloadParts({ ...run, api })(only(chunk))).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'CHUNK_UNBALANCED', exitCode: 6 });
    expect(await chunkOf(run)).toMatchObject({ state: 'finished' });
    const stored = await run.checkpoint.parts(run.id, 1);
    expect(stored).toHaveLength(2);
    for (const part of stored) await readWhole(run.files.readPart(1, part));
    // Asked once, one answer does not decide that.
    const until = AbortSignal.abort();
    const controller = new AbortController();
    expect(await collect(downloadParts({ ...run, api, controller }, until)(only(chunk)))).toEqual([]);
    expect(run.deferred.error).toMatchObject({ code: 'FOLIO_NOT_FOUND' });
  });

  it('are not trusted where the counts agree with the parts and not with what was sent', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    await expect(fetchParts(run, { ...chunk, records: 3 })).rejects.toMatchObject({
      code: 'CHUNK_UNBALANCED',
    });
  });
});

describe('fetching anew', () => {
  it('takes what the service lists now, in place of what is stored, once all of it is here', async () => {
    const { run, chunk } = await finished((part, nth) => good[part]!.replace('c1', `c${nth}`));
    await fetchParts(run, chunk);
    const before = await run.checkpoint.parts(run.id, 1);
    const replacement = await refetchParts(run, await chunkOf(run));
    await replacement.fetchAll();
    expect(run.api.asked.slice(2)).toEqual(['track', 'SUCCESSFUL 0', 'FAILED 4']);
    expect(await run.checkpoint.parts(run.id, 1)).toEqual(before);
    expect((await readWhole(run.files.readPart(1, before[0]!))).toString()).toBe('id,code\n1,c1\n');

    expect(await replacement.commit()).toMatchObject({ state: 'downloaded' });
    const after = await run.checkpoint.parts(run.id, 1);
    expect(after).toEqual(replacement.parts);
    expect((await readWhole(run.files.readPart(1, after[0]!))).toString()).toBe('id,code\n1,c2\n');
    await expect(readWhole(run.files.readPart(1, before[0]!))).rejects.toBeInstanceOf(DamagedPartError);
    // What has come back as it was is where it was.
    expect(after[1]).toEqual(before[1]);
    expect((await readWhole(run.files.readPart(1, after[1]!))).toString()).toBe(good['FAILED 4']);
  });

  it('takes nothing of another service', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    const now = report('FINISHED', 1, { counts: { successful: 1, failed: 1 }, failedPart: 4 });
    const api = { ...run.api, track: async () => ({ ...now, rehearsal: true }) };
    const replacement = await refetchParts({ ...run, api }, chunk);
    await expect(replacement.fetchAll()).rejects.toMatchObject({ code: 'SERVICE_MIXED' });
    expect(run.api.asked).toEqual([]);
  });

  it('leaves nothing behind where it was in vain', async () => {
    const { run, chunk } = await finished((part, nth) => good[part]!.replace('c1', `c${nth}`));
    await fetchParts(run, chunk);
    const before = await run.checkpoint.parts(run.id, 1);
    const replacement = await refetchParts(run, await chunkOf(run));
    await replacement.fetchAll();
    await replacement.discard();
    await expect(readWhole(run.files.readPart(1, replacement.parts[0]!))).rejects.toBeInstanceOf(
      DamagedPartError,
    );
    for (const part of before) await readWhole(run.files.readPart(1, part));
  });

  it('keeps what the checkpoint names where the replaced files cannot be removed', async () => {
    const { run, chunk } = await finished((part, nth) => good[part]!.replace('c1', `c${nth}`));
    await fetchParts(run, chunk);
    let isCut = true;
    const removePart: typeof run.files.removePart = async (...part) => {
      if (isCut) throw new Error('the connection is cut');
      await run.files.removePart(...part);
    };
    const files = { ...run.files, removePart };
    const replacement = await refetchParts({ ...run, files }, await chunkOf(run));
    await replacement.fetchAll();
    await expect(replacement.commit()).rejects.toThrow('the connection is cut');
    isCut = false;
    await replacement.discard();
    const named = await run.checkpoint.parts(run.id, 1);
    expect(named).toEqual(replacement.parts);
    for (const part of named) await readWhole(run.files.readPart(1, part));
  });

  it.each([
    ['that is PROCESSING again', report('PROCESSING'), 'and is now PROCESSING'],
    ['without counts', report('FINISHED', 1, { counts: null }), 'and is now FINISHED without these counts'],
    [
      'that lists fewer parts',
      report('FINISHED', 1, { counts: { successful: 2, failed: 0 }, successfulParts: [0], listedRecords: 1 }),
      'and now lists parts for 1 of 2 successful records',
    ],
    [
      'that lists no part',
      report('FINISHED', 1, {
        counts: { successful: 2, failed: 0 },
        successfulParts: [],
        listedRecords: null,
      }),
      'and now lists parts for 0 of 2 successful records',
    ],
  ])('does not trust a finished folio %s', async (_, now, text) => {
    const { run, chunk } = await finished((part) => good[part]!);
    const api = { ...run.api, track: async () => now };
    const replacement = await refetchParts({ ...run, api }, chunk);
    await expect(replacement.fetchAll()).rejects.toMatchObject({
      code: 'FOLIO_WENT_BACK',
      exitCode: 6,
      hint: expect.stringContaining('ask the service provider about this folio'),
      message: `chunk 1: folio F1 was FINISHED with 1 successful and 1 failed record, ${text}`,
    });
  });
});

describe('the stage', () => {
  it('removes the chunk file when its parts are here', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    const [downloaded] = await collect(downloadParts(run)(only(chunk)));
    expect(downloaded).toMatchObject({ number: 1, state: 'downloaded' });
    expect(await run.files.hasChunk(1, chunk.sha256)).toBe(false);
  });

  it('gives up a chunk whose folio is lost', async () => {
    const { run, chunk } = await finished(() => new FolioLostError('FOLIO_LOST', 'folio F1 is not known'));
    const [given] = await collect(downloadParts(run)(only(chunk)));
    expect(given).toMatchObject({ state: 'unprocessed', cause: 'FOLIO_LOST' });
    expect(run.log.at(-1)).toContain('2 records now UNPROCESSED');
  });

  it('leaves a chunk as it is whose folio is not known, where that was asked once', async () => {
    const { run, chunk } = await finished(() => new FolioLostError('FOLIO_LOST', 'folio F1 is not known'));
    expect(await collect(downloadParts(run, AbortSignal.abort())(only(chunk)))).toEqual([]);
    expect(await chunkOf(run)).toMatchObject({ state: 'finished' });
    expect(run.deferred.error).toMatchObject({ code: 'FOLIO_NOT_FOUND', exitCode: 5 });
  });

  it('passes on what is not finished as it is', async () => {
    const { run, chunk } = await finished((part) => good[part]!);
    await run.checkpoint.recordUnprocessed(run.id, 1, 'DEADLINE');
    const given = { ...chunk, state: 'unprocessed' } as const;
    expect(await collect(downloadParts(run)(only(given)))).toEqual([given]);
    expect(run.api.asked).toEqual([]);
  });
});

async function* only(chunk: ChunkRow): AsyncGenerator<ChunkRow> {
  yield chunk;
}
