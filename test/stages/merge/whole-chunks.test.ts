/**
 * A chunk of more than 3 MB: its rows are given in several stretches, though it is joined as a whole. The records of one
 * with more than 16 MB are not held in memory.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { fieldValue } from '../../../src/csv/table.js';
import { streamChunk } from '../../../src/stages/chunk/stream-chunk.js';
import { openChunkAnswers } from '../../../src/stages/merge/chunk-answers.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { wholeChunks } from '../../../src/stages/merge/whole-chunks.js';
import { appendMerged, publishOutput } from '../../../src/stages/publish/publish-output.js';
import { firstPosition, openSourceBlocks } from '../../../src/stages/read-source.js';
import type { UnprocessedCause } from '../../../src/types.js';
import { createFakeApi, type FakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  createStageRun,
  downloadAll,
  inNewProcess,
  nothing,
  type StageRun,
} from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();
const RECORDS = 60;
const BAD = 5;
const numbers = Array.from({ length: RECORDS }, (_, i) => i + 1);
const good = numbers.filter((n) => n !== BAD);
const isFailed = (n: number) => n % 20 === 0;
const answerOf = (n: number) => (isFailed(n) ? 'FAILED,SERVICE_FAILED,no,' : `SUCCESSFUL,,,c${n}`);
const header = 'name,address,prediction_status,prediction_error_code,prediction_error,prediction_code\n';

function service(changed?: (address: string) => string): FakeApi {
  return createFakeApi({
    answer: ({ id, name }) => {
      const n = Number(id ?? /\d+/.exec(name!)![0]);
      return isFailed(n)
        ? { status: 'FAILED', added: { reason: 'no' } }
        : { status: 'SUCCESSFUL', added: { code: `c${n}` } };
    },
    // Each part has results from everywhere in the chunk.
    results: (results) =>
      results.map((_, at) => {
        const { sent, ...answer } = results[(at * 7) % results.length]!;
        const { address = '' } = sent;
        return { ...answer, sent: { ...sent, address: changed?.(address) ?? address } };
      }),
    partRecords: 25,
  });
}

const upload = { columns: { name: 'name', address: 'address' }, keyColumn: 'id' };

async function downloaded(
  source: string,
  api = service(),
  more: Record<string, unknown> = {},
  blank = 0,
): Promise<StageRun> {
  const config = {
    source: { path: `${await folder()}/source.csv`, maxRejected: 1 },
    upload,
    chunks: { maxRecords: RECORDS, maxBytes: '64MB' },
    failures: { tolerate: 1 },
    ...more,
  };
  const made = await createStageRun(await folder(), { source, config, api });
  const run = blank === 0 ? made : { ...made, source: { ...made.source, blank } };
  await downloadAll(run);
  return run;
}

const published = async (run: StageRun) => {
  await publishOutput(run)(mergeResults(run)(nothing()));
  const { path } = run.config.output;
  const manifest = JSON.parse(await readFile(`${path}.manifest.json`, 'utf8'));
  return { output: await readFile(path, 'utf8'), manifest };
};

describe('a large chunk', () => {
  const filler = 'x'.repeat(100_000);
  const lines = numbers.map((n) => (n === BAD ? 'bad\n' : `n${n},${n} ${filler}\n`));
  const source = `name,address\n${lines.join('')}`;
  const rowOf = (n: number) => `n${n},${n} ${filler},${answerOf(n)}\n`;

  it('is given in stretches that follow one another, each with its own records, rows and end', async () => {
    const run = await downloaded(source);
    const merged = await collect(mergeResults(run)(nothing()));
    expect(merged.length).toBeGreaterThan(3);
    expect(merged.map(({ bytes }) => bytes.toString()).join('')).toBe(good.map(rowOf).join(''));
    let last = 0;
    let end = 0;
    for (const stretch of merged) {
      const own = good.filter((n) => n >= stretch.firstRecord && n <= stretch.lastRecord);
      expect(own[0]).toBe(good.find((n) => n > last));
      expect(stretch.records).toBe(own.length);
      expect(stretch.counts).toMatchObject({
        successful: own.filter((n) => !isFailed(n)).length,
        failed: own.filter(isFailed).length,
      });
      expect(stretch.numbers && [...stretch.numbers]).toEqual(own.includes(4) ? own : undefined);
      last = stretch.lastRecord;
      end = source.indexOf(`n${last},`) + `n${last},${last} ${filler}`.length;
      expect(stretch.end).toEqual({ file: 0, offset: end });
    }
    expect(last).toBe(RECORDS);
  });

  it('is merged from its first record on after a kill in its middle', async () => {
    const run = await downloaded(source);
    const killed = inNewProcess(run, 'after-merged-before-next', 2);
    await expect(appendMerged(killed)(mergeResults(killed)(nothing()))).rejects.toThrow('killed');
    expect((await run.checkpoint.lastStretch(run.id))!.lastRecord).toBeLessThan(RECORDS);
    const { output, manifest } = await published(inNewProcess(run));
    expect(output).toBe(header + good.map(rowOf).join(''));
    const failed = good.filter(isFailed).length;
    const counts = { successful: good.length - failed, failed };
    expect(manifest.counts).toMatchObject(counts);
    expect(manifest.chunks).toEqual([expect.objectContaining(counts)]);
    const first = await run.checkpoint.nextStretch(run.id, 0);
    expect(first!.lastRecord).toBeLessThan(RECORDS);
  });

  it('is merged from its first record on, too, if only that one is in the first stretch', async () => {
    const two = [1, 2].map((n) => `n${n},${n} ${'x'.repeat(990_000)}`);
    const run = await downloaded(`name,address\n${two.join('\n')}\n`);
    const killed = inNewProcess(run, 'after-merged-before-next', 1);
    await expect(appendMerged(killed)(mergeResults(killed)(nothing()))).rejects.toThrow('killed');
    expect((await run.checkpoint.lastStretch(run.id))!.lastRecord).toBe(1);
    const { output } = await published(inNewProcess(run));
    expect(output).toBe(header + two.map((fields, at) => `${fields},${answerOf(at + 1)}\n`).join(''));
  });

  it('with an echo that differs in one of its records is not trusted', async () => {
    const api = service((address) => (address.startsWith('57 ') ? address.replace('x', 'y') : address));
    await expect(
      downloaded(source, api, { result: { echo: ['name', 'address'] } }).then((one) =>
        collect(mergeResults(one)(nothing())),
      ),
    ).rejects.toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
      message: expect.stringContaining('record 57'),
    });
  });
});

describe('a large chunk behind one that has proved the join', () => {
  /** The first chunk is small. A record of the second one is blank in the sent columns. */
  const BLANK = 100;
  const filler = 'y'.repeat(300_000);
  const addressOf = (n: number) => (n > RECORDS ? `${n} Road ${filler}` : `${n} Road`);
  const fieldsOf = (n: number) => (n === BLANK ? ',' : `n${n},${addressOf(n)}`);
  const all = Array.from({ length: 2 * RECORDS + 1 }, (_, i) => i + 1);
  const source = `name,address\n${all.map((n) => `${fieldsOf(n)}\n`).join('')}`;
  const rowOf = (n: number) => {
    const skipped = 'FAILED,NOTHING_TO_SEND,"every sent column of this record is blank, so it was not sent",';
    return `${fieldsOf(n)},${n === BLANK ? skipped : answerOf(n)}\n`;
  };
  const expected = all.map(rowOf).join('');
  const received = (changed?: (address: string) => string) => downloaded(source, service(changed), {}, 1);
  const merge = async (changed: (address: string) => string) =>
    collect(mergeResults(await received(changed))(nothing()));

  it('gives the rows of all its records, with those that were not sent, also after a kill in its middle', async () => {
    const run = await received();
    const killed = inNewProcess(run, 'after-merged-before-next', 4);
    await expect(appendMerged(killed)(mergeResults(killed)(nothing()))).rejects.toThrow('killed');
    expect((await run.checkpoint.lastStretch(run.id))!.lastRecord).toBeGreaterThan(RECORDS + 1);
    const { output, manifest } = await published(inNewProcess(run));
    expect(output).toBe(header + expected);
    expect(manifest.counts).toMatchObject({ failed: all.filter(isFailed).length });
  });

  it('is not trusted if one of its echoes differs', async () => {
    await expect(
      merge((address) => (address.startsWith('107 ') ? address.replace('y', 'z') : address)),
    ).rejects.toMatchObject({ code: 'RESULTS_DO_NOT_MATCH', message: expect.stringContaining('record 107') });
  });

  it('may have an echo with other capitals', async () => {
    const merged = await merge((address) => (address.startsWith('107 ') ? address.toLowerCase() : address));
    expect(merged.map(({ bytes }) => bytes.toString()).join('')).toBe(expected);
  });
});

describe('a large chunk that is the first one, and large because of a column that is not sent', () => {
  const note = 'z'.repeat(300_000);
  // Quotes stay as they are in the source; the service gives the values.
  const fieldsOf = (n: number) => `"n, ""${n}""",${note},"${n}\nMain St"`;
  const source = `name,note,address\n${numbers.map((n) => `${fieldsOf(n)}\n`).join('')}`;
  const expected = numbers.map((n) => `${fieldsOf(n)},${answerOf(n)}\n`).join('');
  const received = (keyColumn: string | null, changed?: (address: string) => string, more = {}) =>
    downloaded(source, service(changed), { upload: { ...upload, keyColumn }, ...more });

  it.each(['id', null])('gives the rows of all its records; key column: %s', async (keyColumn) => {
    const { output } = await published(await received(keyColumn));
    expect(output.slice(output.indexOf('\n') + 1)).toBe(expected);
  });

  it.each(['id', null])('is not trusted if one of its echoes differs; key column: %s', async (keyColumn) => {
    const changed = (address: string) => (address.startsWith('57\n') ? '57 Main Rd' : address);
    const run = await received(keyColumn, changed, { result: { echo: ['name', 'address'] } });
    await expect(collect(mergeResults(run)(nothing()))).rejects.toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
      message: expect.stringContaining('57'),
    });
  });

  it('is joined without the columns that were not sent', async () => {
    const run = await received(null);
    const sent = await (await streamChunk(run, (await run.checkpoint.chunk(run.id, 1))!)).sent();
    expect(sent.bytes.length).toBeLessThan(RECORDS * 100);
    expect([0, 1].map((field) => fieldValue(sent, BAD, field))).toEqual(['n, "6"', '6\nMain St']);
  });
});

/** The blocks of a run that has cut no chunk. */
async function withoutChunks(source: string, unanswered?: UnprocessedCause, blank = 0) {
  const made = await createStageRun(await folder(), { source });
  const run = { ...made, source: { ...made.source, blank } };
  const records = openSourceBlocks(run, firstPosition(run.source));
  const answers = await openChunkAnswers(run, {});
  return { records, blocks: wholeChunks(run, firstPosition(run.source), records, answers, unanswered) };
}

it('records that are in no chunk are an error, except at a deadline', async () => {
  const { records, blocks } = await withoutChunks('name,note\n,blank\nn2,\n', undefined, 1);
  await expect(blocks.next(2)).rejects.toMatchObject({ code: 'RECORD_UNANSWERED', facts: { record: 2 } });
  await records.close();
});

it('records that are in no chunk at a deadline are not all held in memory', async () => {
  const source = `name,note\n${numbers.map((n) => `n${n},${'x'.repeat(300_000)}\n`).join('')}`;
  const { records, blocks } = await withoutChunks(source, 'DEADLINE');
  const found: number[] = [];
  for (let next = await blocks.next(RECORDS); next !== undefined; next = await blocks.next(RECORDS)) {
    found.push(...next.block.numbers);
    expect(next.block.bytes.buffer.byteLength).toBeLessThan(8_000_000);
    blocks.release();
  }
  expect(found).toEqual(numbers);
  await records.close();
});
