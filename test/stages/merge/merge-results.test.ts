import { writeFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { appendMerged } from '../../../src/stages/publish/publish-output.js';
import { contentOf, createFakeApi, type FakeApi, idsOf } from '../../fake-service/fake-api.js';
import { mergeChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  createStageRun,
  downloadAll,
  nothing,
  refetching,
  type StageRun,
} from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

async function downloaded(api?: FakeApi, config: Record<string, unknown> = {}): Promise<StageRun> {
  const run = await createStageRun(await folder(), { config, ...(api && { api }) });
  await downloadAll(run);
  return run;
}

async function mergedText(run: StageRun): Promise<string> {
  const merged = await collect(mergeResults(run)(nothing()));
  return merged.map(({ bytes }) => bytes.toString()).join('');
}

/** A service whose parts are what `content` makes of the ids, by the number of the download. */
function answering(content: (ids: readonly string[], nth: number) => string): FakeApi {
  const service = createFakeApi();
  let downloads = 0;
  return {
    ...service,
    download: async ({ folio }, consume) => {
      downloads += 1;
      return consume(contentOf(content(idsOf(service.folios.get(folio)!), downloads)), { rehearsal: false });
    },
  };
}

const rowOf = (n: number) => `n${n},${n} Main St,SUCCESSFUL,,,c${n}\n`;

describe('merging', () => {
  it('gives whole chunks in the order of the source, with the columns that were learned', async () => {
    const run = await downloaded();
    const merged = await collect(mergeResults(run)(nothing()));
    expect(
      merged.map(({ firstRecord, columns, counts }) => [firstRecord, columns, counts.successful]),
    ).toEqual([
      [1, ['code'], 2],
      [3, ['code'], 2],
      [5, ['code'], 2],
    ]);
    expect(merged.map(({ bytes }) => bytes.toString()).join('')).toBe([1, 2, 3, 4, 5, 6].map(rowOf).join(''));
    expect(await run.checkpoint.run(run.id)).toMatchObject({
      join: { by: 'key', column: 'id' },
      columns: ['code'],
    });
    expect(await run.checkpoint.knownColumns('nightly', 'https://service.test')).toEqual(['code']);
  });

  it('goes on behind the last chunk that is merged', async () => {
    const run = await downloaded();
    const [first] = await collect(mergeResults(run)(nothing()));
    await mergeChunk(run.checkpoint, run.id, 1, first!.counts, 50);
    expect(await mergedText(run)).toBe([3, 4, 5, 6].map(rowOf).join(''));
  });

  it('ends before a chunk that is not here, and gives up nothing of its own', async () => {
    const service = createFakeApi();
    const run = await createStageRun(await folder(), { api: service });
    await downloadAll(run);
    await run.checkpoint.recordUnprocessed(run.id, 2, 'FOLIO_LOST');
    await run.checkpoint.recordFound(run.id, 2);
    expect(await mergedText(run)).toBe([1, 2].map(rowOf).join(''));
  });
});

describe('a source that holds something else', () => {
  /** A run whose chunks are judged and whose columns are known, so that only rows are made of the source. */
  const judged = async () => {
    const run = await downloaded();
    await mergedText(run);
    const { path } = run.source.files[0]!;
    const whole = await readFile(path, 'utf8');
    await writeFile(path, whole.replaceAll('Main', 'Side'));
    return { run, path, whole };
  };

  it('for a moment is read again', async () => {
    const { run, path, whole } = await judged();
    let looks = 0;
    const file = {
      ...run.source.files[0]!,
      // Looked at to read the file, and then to check it.
      get path() {
        looks += 1;
        if (looks === 2) writeFileSync(path, whole);
        return path;
      },
    };
    const source = { ...run.source, files: [file] };
    expect(await mergedText({ ...run, source })).toBe([1, 2, 3, 4, 5, 6].map(rowOf).join(''));
    expect(looks).toBeGreaterThan(2);
  });

  it('gives no row, and other chunks go on', async () => {
    const { run } = await judged();
    const taken: number[] = [];
    const chunks = async function* () {
      for (const chunk of await run.checkpoint.chunksIn(run.id, ['downloaded'], 0, 3)) {
        taken.push(chunk.number);
        yield chunk;
      }
    };
    expect(await collect(mergeResults(refetching(run))(chunks()))).toEqual([]);
    expect(taken).toEqual([1, 2, 3]);
    expect(run.deferred.error).toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
  });
});

describe('a part that was stored', () => {
  const partFiles = async () => {
    const runs = join(await folder(), 'state', 'runs');
    const [run] = await readdir(runs);
    return (await readdir(join(runs, run!)))
      .filter((name) => name.startsWith('part-'))
      .map((name) => join(runs, run!, name));
  };

  it.each([
    ['missing, the first of all', 0, (path: string) => rm(path)],
    ['damaged, the first of all', 0, (path: string) => writeFile(path, 'rubbish')],
    ['missing', 1, (path: string) => rm(path)],
    ['damaged', 2, (path: string) => writeFile(path, 'rubbish')],
  ])('and is %s is fetched again', async (_, at, harm) => {
    const run = await downloaded();
    await harm((await partFiles()).sort()[at]!);
    expect(await mergedText(refetching(run))).toBe([1, 2, 3, 4, 5, 6].map(rowOf).join(''));
  });

  it('and is damaged is final where nobody can fetch it', async () => {
    const run = await downloaded();
    await rm((await partFiles()).sort()[1]!);
    await expect(mergedText(run)).rejects.toMatchObject({
      code: 'PART_DAMAGED',
      exitCode: 6,
      facts: { chunk: 2 },
    });
  });
});

describe('results that do not match', () => {
  const swapped = (ids: readonly string[]) =>
    `id,code\n${ids.map((id) => `${Number(id) + 100},c\n`).join('')}`;
  const right = (ids: readonly string[]) => `id,code\n${ids.map((id) => `${id},c${id}\n`).join('')}`;

  it('are fetched once more, and are right then', async () => {
    const run = await downloaded(answering((ids, nth) => (nth <= 3 ? swapped(ids) : right(ids))));
    expect(await mergedText(refetching(run))).toBe([1, 2, 3, 4, 5, 6].map(rowOf).join(''));
  });

  it('are not trusted when they are wrong again; chunk and folio are named', async () => {
    const run = await downloaded(answering(swapped));
    await expect(mergedText(refetching(run))).rejects.toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
      exitCode: 6,
      message: expect.stringMatching(/^chunk 1 \(folio F\d\): 4 results/),
      facts: { misfits: 4, chunk: 1 },
      hint: expect.any(String),
    });
  });

  it('because the columns changed stop the run', async () => {
    const run = await downloaded(
      answering((ids) =>
        ids[0] === '1' ? right(ids) : right(ids).replaceAll(/$/gm, '').replace('code', 'class'),
      ),
    );
    const tracked = run.api.asked.filter((asked) => asked.startsWith('track'));
    await expect(mergedText(refetching(run))).rejects.toMatchObject({
      code: 'COLUMNS_CHANGED',
      exitCode: 6,
    });
    // Once each, by the download.
    expect(run.log.join('\n')).not.toContain('fetched once more');
    expect(run.api.asked.filter((asked) => asked.startsWith('track'))).toEqual(tracked);
  });
});

it('the reasons that are counted, shown and posted hide the token; a row has what the service says', async () => {
  const answer = () => ({ status: 'FAILED' as const, added: { reason: 't0ken is wrong' } });
  const run = await createStageRun(await folder(), {
    api: createFakeApi({ answer }),
    config: { failures: { tolerate: 1 } },
  });
  await downloadAll(run);
  const [merged] = await collect(mergeResults(run)(nothing()));
  expect(merged!.bytes.toString()).toContain('t0ken is wrong');
  expect(JSON.stringify(merged!.reasons)).toMatch(/^(?!.*t0ken).* is wrong/);
});

describe('records of a later chunk that were sent alike, and have different results', () => {
  const own = (count: number) => Array.from({ length: count }, (_, at) => `of ${count}, ${at}`);
  const equal = (count: number) => Array<string>(count).fill(`one of ${count}`);

  /** Merges records with these names, in chunks of 20, and then once more. */
  const merge = async (...names: readonly string[]) => {
    let answered = 0;
    const answer = () => ({ status: 'SUCCESSFUL' as const, added: { code: `c${answered++}` } });
    const run = await createStageRun(await folder(), {
      source: `name,address\n${names.map((name, at) => `"${name}",${at} Main St\n`).join('')}`,
      config: { upload: { columns: { name: 'name' }, keyColumn: null }, chunks: { maxRecords: 20 } },
      api: createFakeApi({ answer }),
    });
    await downloadAll(run);
    await appendMerged(run)(mergeResults(run)(nothing()));
    const again = await collect(mergeResults(run, { fromFirst: true })(nothing()));
    const { counts } = await run.checkpoint.tally(run.id);
    return { ...counts, again: again.map(({ records }) => records) };
  };
  const refused = { code: 'RESULTS_INDISTINCT', exitCode: 6 };

  it('are not trusted if they are too many', async () => {
    await expect(merge(...own(20), ...equal(20))).rejects.toMatchObject(refused);
  });

  it('are accepted in a small chunk if they are few in all, also when its rows are given again', async () => {
    const counts = { successful: 42, indistinct: 2, again: [20, 20, 2] };
    expect(await merge(...own(40), ...equal(2))).toMatchObject(counts);
  });

  it('are not trusted if they and earlier ones are too many in all', async () => {
    const first = [...own(38), ...equal(2), ...own(20)];
    expect(await merge(...first)).toMatchObject({ indistinct: 2 });
    await expect(merge(...first, ...equal(2))).rejects.toMatchObject(refused);
  });
});

describe('columns', () => {
  const two = (ids: readonly string[]) => `title,id,code\n${ids.map((id) => `t,${id},c${id}\n`).join('')}`;

  it('that are declared come in their order', async () => {
    const run = await downloaded(answering(two), { result: { columns: ['code', 'title'] } });
    expect((await mergedText(run)).split('\n')[0]).toBe('n1,1 Main St,SUCCESSFUL,,,c1,t');
    expect(await run.checkpoint.knownColumns('nightly', 'https://service.test')).toBeUndefined();
  });

  it('that the pipeline had before are kept', async () => {
    const run = await createStageRun(await folder(), { api: answering(two) });
    await run.checkpoint.recordColumns(run.id, ['code', 'title'], true);
    await downloadAll(run);
    expect((await mergedText(run)).split('\n')[0]).toBe('n1,1 Main St,SUCCESSFUL,,,c1,t');
  });

  it('are not missed in a part without results', async () => {
    const service = createFakeApi();
    const run = await downloaded({
      ...service,
      track: async (...asked) => ({ ...(await service.track(...asked)), successfulParts: [0, 1] }),
      download: (wanted, consume, signal) =>
        wanted.part === 0
          ? consume(contentOf('id\n'), { rehearsal: false })
          : service.download({ ...wanted, part: 0 }, consume, signal),
    });
    expect(await mergedText(run)).toBe([1, 2, 3, 4, 5, 6].map(rowOf).join(''));
  });

  it('are none where no record of the run has a success', async () => {
    const run = await createStageRun(await folder(), { config: { ambiguous: { policy: 'hold' } } });
    await downloadAll(run);
    const lost = await createStageRun(await folder(), {
      api: {
        ...run.api,
        track: async () => ({
          ...(await run.api.track('F1', run.signal)),
          counts: { successful: 0, failed: 2 },
          successfulParts: [],
        }),
        download: async (_, consume) =>
          consume(contentOf('name,reason\nx,bad\nx,bad\n'), { rehearsal: false }),
      },
      source: 'name,address\nx,1\nx,2\nx,3\nx,4\n',
      config: { failures: { tolerate: 1 } },
    });
    await downloadAll(lost);
    const text = await mergedText(lost);
    expect(text).toBe([1, 2, 3, 4].map((n) => `x,${n},FAILED,SERVICE_FAILED,bad\n`).join(''));
    expect(await lost.checkpoint.run(lost.id)).toMatchObject({
      columns: null,
      join: { by: 'echo', columns: ['name'] },
    });
  });
});
