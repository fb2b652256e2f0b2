/** Everything that an honest implementation of the interface may answer: the output is right whatever it is. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { RefusedError } from '../../pipelines/index.js';
import type { Behaviour } from '../helpers/other-service.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../helpers/other-service-job.js';
import { type Answer, foreseenAnswer, type SentRecord } from '../helpers/other-service-parts.js';
import { enrichmentOf, foreseen, sourceColumns, sourceText } from '../helpers/other-service-source.js';
import { firstTimes, givingBack, shuffled } from '../helpers/other-service-troubles.js';

const all = failingAmong(60);
const isStrange = { kind: 'answer', status: 404, body: 'soon' } as const;

const honest: Readonly<Record<string, Behaviour>> = {
  'nothing unusual': {},
  'CRLF line ends': { style: () => ({ newline: '\r\n' }) },
  'all fields quoted': { style: () => ({ quoted: true }) },
  'a BOM at the start of parts': { style: () => ({ bom: true }) },
  'a BOM, CRLF and quotes': { style: () => ({ bom: true, newline: '\r\n', quoted: true }) },
  'columns in another order, another one in each folio': {
    style: ({ chunk }) => ({ columns: (names) => (chunk % 2 ? [...names].reverse() : [...names].sort()) }),
  },
  'records shuffled in and over small parts': { results: shuffled, partRecords: 3 },
  'only the key given back': { results: shuffled, style: () => ({ columns: givingBack('record_id') }) },
  'parts of 7 records': { partRecords: 7 },
  'a part for each record': { partRecords: 1 },
  'the failed part under a number of its own': { failedPart: 4711 },
  'FINISHED at the first poll': { finishedAtPoll: () => 1 },
  'segments listed while PROCESSING': {
    tracking: (reply, { finished, records }) =>
      finished ? reply : { ...reply, segmentation: [{ part: 0, range: `[1-${records.length}]` }] },
  },
  'parts that can be downloaded only after a while (409)': {
    trouble: firstTimes('download', 3, { ...isStrange, status: 409 }),
  },
  'parts that can be downloaded only after a while (404)': { trouble: firstTimes('download', 3, isStrange) },
  'FINISHED before all segments are listed': {
    partRecords: 3,
    tracking: (reply, { polls }) =>
      polls < 4 ? { ...reply, segmentation: reply.segmentation.slice(0, polls - 2) } : reply,
  },
  'FINISHED before the counts are there': {
    tracking: (reply, { polls }) => {
      const { status, ...rest } = reply.progressInfo;
      return { ...reply, progressInfo: polls < 4 ? { status } : { status, ...rest } };
    },
  },
  'ranges that say nothing': {
    tracking: (reply) => ({
      ...reply,
      segmentation: reply.segmentation.map(({ part }: { part: number }) => ({ part, range: 'some' })),
    }),
  },
  'an unknown status for a while': {
    finishedAtPoll: () => 4,
    tracking: (reply, { finished }) =>
      finished ? reply : { ...reply, progressInfo: { ...reply.progressInfo, status: 'EN COLA\u001b[31m' } },
  },
  'percentages that go back and beyond': {
    finishedAtPoll: () => 5,
    tracking: (reply, { polls }) => ({
      ...reply,
      progressInfo: { ...reply.progressInfo, processedPercentage: [0, 90, 10, 250, -3][polls] },
    }),
  },
  'numbers as strings': {
    receipt: (reply) => ({ ...reply, totalRecords: String(reply.totalRecords) }),
    tracking: (reply) =>
      JSON.parse(JSON.stringify(reply, (_, value) => (typeof value === 'number' ? String(value) : value))),
  },
  'nothing but what is used': {
    receipt: ({ folio }) => ({ folio }),
    tracking: ({ progressInfo, segmentation, failedInfo }) => ({
      progressInfo: {
        status: progressInfo.status,
        successfulRecords: progressInfo.successfulRecords,
        failedRecords: progressInfo.failedRecords,
      },
      segmentation: segmentation.map(({ part }: { part: number }) => ({ part })),
      failedInfo: { part: failedInfo.part },
    }),
  },
  'unknown members everywhere': {
    receipt: (reply) => ({ ...reply, price: 1, response: null }),
    tracking: (reply) => ({
      ...reply,
      response: [],
      progressInfo: { ...reply.progressInfo, mood: 'good' },
      segmentation: reply.segmentation.map((segment: object) => ({ ...segment, content: 'aGFoYQ==' })),
    }),
    trouble: () => ({
      kind: 'change',
      change: (text) => text.replace('{', '{"content":"!","x":{"content":[1,"\\u0000"]},'),
    }),
  },
};

describe('an honest service', () => {
  it.concurrent.each(Object.entries(honest))('%s', async (_, behaviour) => {
    await withJob({ behaviour }, async (job) => {
      const summary = await job.enrich();
      await expectEnriched(job);
      await expectSuccess(job, summary, all);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });
});

const failing = (): Answer => ({ status: 'FAILED', added: { reason: 'a day off' } });
const succeeding = (record: SentRecord): Answer =>
  foreseenAnswer({ ...record, name: record.name!.replace('Failing', 'Prospering') });

describe('failed records', () => {
  it('takes a run in which every record failed, with nothing listed', async () => {
    const tracking: Behaviour['tracking'] = (reply) => ({ ...reply, segmentation: null });
    await withJob({ behaviour: { answer: failing, tracking } }, async (job) => {
      await expectSuccess(job, await job.enrich(), 60);
      await expectEnriched(job, () => enrichmentOf(failing()));
    });
  });

  it.each([
    ['null', null],
    ['absent', undefined],
    ['an empty range', { part: 0, range: '[0-0]', filename: '' }],
    ['an empty object', {}],
  ])('takes a run in which none failed, with failedInfo %s', async (_, failedInfo) => {
    const behaviour: Behaviour = { answer: succeeding, tracking: (reply) => ({ ...reply, failedInfo }) };
    await withJob({ behaviour }, async (job) => {
      await expectSuccess(job, await job.enrich(), 0);
      await expectEnriched(job, (row) => enrichmentOf(succeeding(sentOf(row))));
    });
  });

  it('fetches the failed part as number 0 where failedInfo does not say', async () => {
    const tracking: Behaviour['tracking'] = ({ failedInfo, ...reply }) => reply;
    await withJob({ behaviour: { tracking } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });

  it('tells several reasons in one error, and the empty ones not at all', async () => {
    const answer = (record: SentRecord): Answer => {
      const honestly = foreseenAnswer(record);
      const added = { code: 'E, 7', detail: '', hint: 'say "please"' };
      return honestly.status === 'FAILED' ? { status: 'FAILED', added } : honestly;
    };
    await withJob({ behaviour: { answer } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job, (row) => {
        const expected = foreseen(row);
        return expected.status === 'FAILED'
          ? { ...expected, error: 'code: E, 7; hint: say "please"' }
          : expected;
      });
    });
  });

  it('ends with 3 and the marker of a partial output when more failed than are tolerated', async () => {
    await withJob({}, async (job) => {
      const tolerated = await job.enrich({ failures: { tolerate: `${Math.ceil((100 * all) / 60)}%` } });
      expect(tolerated.exitCode).toBe(0);
      const summary = await job.enrich({ failures: { tolerate: '1%' } }, { fresh: true });
      expect(summary).toMatchObject({ exitCode: 3, state: 'done' });
      expect(await job.manifest()).toMatchObject({ status: 'PARTIAL', exitCode: 3, complete: true });
      expect(await job.published()).toEqual([
        'enriched.csv',
        'enriched.csv._PARTIAL',
        'enriched.csv.manifest.json',
      ]);
      await expectEnriched(job);
    });
  });
});

describe('what is sent and given back', () => {
  it.each([
    ['all of them', givingBack('name', 'address', 'state')],
    ['two of them', givingBack('name', 'state')],
  ])('joins by the sent columns, %s, where the key does not come back', async (_, columns) => {
    await withJob({ behaviour: { results: shuffled, style: () => ({ columns }) } }, async (job) => {
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(summary.indistinct).toBe(0);
    });
  });

  it('sends no key where none is wanted', async () => {
    await withJob(
      { behaviour: { results: shuffled }, config: { upload: { keyColumn: null } } },
      async (job) => {
        await expectSuccess(job, await job.enrich(), all);
        await expectEnriched(job);
        expect(Object.keys(job.service.folios[0]!.records[0]!)).toEqual(['name', 'address', 'state']);
      },
    );
  });

  it('counts equal tuples whose results differ, and gives them out in order', async () => {
    const answer = (record: SentRecord, place: number): Answer => {
      const honestly = foreseenAnswer(record);
      return record.name === 'Twin & Sons'
        ? { ...honestly, added: { ...honestly.added, confidence: `0.${place}` } }
        : honestly;
    };
    const setup = {
      behaviour: { answer },
      config: { upload: { keyColumn: null }, chunks: { maxRecords: 30 } },
    };
    await withJob(setup, async (job) => {
      const summary = await job.enrich();
      expect(summary.indistinct).toBe(6);
      expect(await job.manifest()).toMatchObject({ indistinct: 6 });
      await expectEnriched(job, (row, number) => enrichmentOf(answer(sentOf(row), (number - 1) % 30)));
    });
  });

  it('sends every record once, with its number, and what the config says of it', async () => {
    await withJob({}, async (job) => {
      const summary = await job.enrich();
      const sent = job.service.folios.flatMap(({ records }) => records);
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      expect(sent.sort((a, b) => Number(a.record_id) - Number(b.record_id))).toEqual(
        source.map((row, at) => ({ record_id: String(at + 1), ...sentOf(row) })),
      );
      expect(new Set(job.service.seen.map(({ token }) => token))).toEqual(new Set([job.service.token]));
      for (const { fileName, description, chunk } of job.service.folios) {
        expect(fileName).toMatch(new RegExp(`^hostile-${summary.run}-${chunk}-1-[0-9a-f]{8}\\.csv$`));
        expect(description).toBe(`hostile ${summary.run} ${chunk} ${fileName.slice(-12, -4)}`);
      }
    });
  });

  it('sends the token of the GETs in a header where that is wanted', async () => {
    await withJob({ config: { service: { tokenIn: 'header' } } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      expect(new Set(job.service.seen.map(({ token }) => token))).toEqual(new Set([job.service.token]));
    });
  });
});

describe('columns of the output', () => {
  it('has lineage where it is wanted', async () => {
    await withJob({ behaviour: { partRecords: 4 }, config: { output: { lineage: true } } }, async (job) => {
      const { run } = await job.enrich();
      const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
      const folioOf = new Map(job.service.folios.map(({ chunk, id }) => [chunk, id]));
      for (const [at, row] of rows.entries()) {
        expect(row).toMatchObject({
          prediction_run: run,
          prediction_folio: folioOf.get(Math.floor(at / 10) + 1),
          prediction_record: String(at + 1),
        });
        expect(row.prediction_part).toMatch(row.prediction_status === 'FAILED' ? /^0$/ : /^[012]$/);
      }
      expect(Object.keys(rows[0]!).slice(-4)).toEqual([
        'prediction_run',
        'prediction_folio',
        'prediction_part',
        'prediction_record',
      ]);
    });
  });

  it('keeps the chosen source columns only, in their chosen order', async () => {
    await withJob({ config: { output: { columns: ['State', 'id'], prefix: 'p_' } } }, async (job) => {
      await job.enrich();
      const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      expect(Object.keys(rows[0]!)).toEqual([
        ...['State', 'id', 'p_status', 'p_error_code', 'p_error'],
        ...['p_naics_code', 'p_naics_title', 'p_confidence'],
      ]);
      expect(rows.map(({ State, id }) => ({ State, id }))).toEqual(
        source.map(({ State, id }) => ({ State, id })),
      );
    });
  });

  it('keeps the order of declared result columns, whatever the order of the service', async () => {
    const columns = ['confidence', 'naics_code', 'naics_title'];
    await withJob({ behaviour: { results: shuffled }, config: { result: { columns } } }, async (job) => {
      expect((await job.enrich()).columns).toEqual(columns);
      await expectEnriched(job);
      expect((await job.manifest()).columns).toEqual([
        ...sourceColumns,
        ...['prediction_status', 'prediction_error_code', 'prediction_error'],
        ...columns.map((column) => `prediction_${column}`),
      ]);
    });
  });

  it('ignores columns that come later, and leaves empty those that go, where that is wanted', async () => {
    const columns = (names: readonly string[]) => names.filter((name) => name !== 'confidence');
    const behaviour: Behaviour = {
      answer: (record) => {
        const { status, added } = foreseenAnswer(record);
        const isLate = Number(record.record_id) > 30 && status === 'SUCCESSFUL';
        return { status, added: isLate ? { ...added, surprise: 'boo' } : added };
      },
      style: ({ chunk }) => (chunk === 6 ? { columns } : {}),
      finishedAtPoll: ({ chunk }) => chunk,
    };
    await withJob({ behaviour, config: { result: { onChange: 'ignore' } } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job, (row, number) => {
        const { added, ...rest } = foreseen(row);
        const isCut = number > 50 && rest.status === 'SUCCESSFUL';
        return { ...rest, added: isCut ? { ...added, confidence: '' } : added };
      });
    });
  });
});

describe('sources', () => {
  const text = sourceText(30);
  const firstHalf = text.slice(0, text.indexOf('\n00016,') + 1);
  const secondHalf = `${text.slice(0, text.indexOf('\n') + 1)}${text.slice(text.indexOf('\n00016,') + 1)}`;

  /** The same values as in the honest output over the plain source. */
  async function expectValues(job: Job): Promise<void> {
    const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
    const source = parse(text, { columns: true }) as Record<string, string>[];
    expect(rows.length).toBe(30);
    for (const [at, row] of rows.entries()) {
      const { status, error, added } = foreseen(source[at]!);
      expect(row).toMatchObject({ ...source[at], prediction_status: status, prediction_error: error });
      expect(row.prediction_naics_code).toBe(added.naics_code ?? '');
    }
  }

  /** The text with another delimiter and CRLF between records; every field in quotes. */
  const semicolons = (parse(text) as string[][])
    .map((row) => `${row.map((value) => `"${value.replaceAll('"', '""')}"`).join(';')}\r\n`)
    .join('');

  it.each([
    ['gzip', { 'source.csv': gzipSync(text) }, {}],
    ['UTF-16 with a BOM', { 'source.csv': iconv.encode(text, 'utf16le', { addBOM: true }) }, {}],
    ['UTF-8 with a BOM', { 'source.csv': `\ufeff${text}` }, {}],
    [
      'semicolons, CRLF, Latin-1',
      { 'source.csv': iconv.encode(semicolons, 'latin1') },
      { encoding: 'latin1' },
    ],
    [
      'a glob',
      { 'part-2.csv': secondHalf, 'part-1.csv': firstHalf, 'other.txt': '' },
      { path: 'part-*.csv' },
    ],
    [
      'a glob of mixed dialects',
      { 'part-1.csv.gz': gzipSync(firstHalf), 'part-2.csv': `\ufeff${secondHalf.replaceAll('\r', '')}` },
      { path: 'part-*' },
    ],
  ])('%s', async (_, files, source) => {
    await withJob({ files, config: { source } }, async (job) => {
      await expectSuccess(job, await job.enrich(), failingAmong(30));
      await expectValues(job);
    });
  });

  it('leaves rejected records out, keeps them apart, and counts them', async () => {
    const lines = text.split('\n00005,');
    const bad = `${lines[0]}\nbad,fields\n00005,${lines[1]!.replace('\n00029,', '\n00028b,x"y,,,\n00029,')}`;
    await withJob(
      { files: { 'source.csv': bad }, config: { source: { onBadRecord: 'reject' } } },
      async (job) => {
        const summary = await job.enrich();
        expect(summary).toMatchObject({ exitCode: 0, counts: { read: 32, rejected: 2, unprocessed: 0 } });
        await expectValues(job);
        const rejects = parse(await readFile(`${job.outputPath}.rejects.csv`, 'utf8'), { columns: true });
        expect(rejects).toMatchObject([
          { file: job.sourcePath, record: '5', code: 'SOURCE_FIELD_COUNT', raw: 'bad,fields' },
          { file: job.sourcePath, record: '30', code: 'SOURCE_QUOTE_MISPLACED' },
        ]);
        const keys = job.service.folios.flatMap(({ records }) =>
          records.map(({ record_id }) => Number(record_id)),
        );
        expect(keys.sort((a, b) => a - b)).toEqual(
          Array.from({ length: 32 }, (__, i) => i + 1).filter((number) => number !== 5 && number !== 30),
        );
        await writeFile(job.sourcePath, text);
        await job.enrich();
        expect(await job.published()).not.toContain(path.basename(`${job.outputPath}.rejects.csv`));
      },
    );
  });
});

describe('refusals', () => {
  it.each([
    [401, 'TOKEN_REFUSED'],
    [402, 'QUOTA_REFUSED'],
    [403, 'TOKEN_REFUSED'],
    [400, 'SERVICE_REFUSED'],
    [413, 'FILE_TOO_LARGE'],
  ])('stops at %i of an upload, and goes on once it is mended', async (status, code) => {
    const trouble: Behaviour['trouble'] = ({ operation, chunk }) =>
      operation === 'upload' && chunk === 4
        ? { kind: 'answer', status, body: '{"message":"no."}' }
        : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({ exitCode: 7, code, facts: { operation: 'upload', status } });
      expect((error as Error).message).toContain('no.');
      expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
      expect(job.service.seen.filter(({ chunk }) => chunk === 4).length).toBe(1);
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });
});

describe('a slow folio', () => {
  it('holds nothing back but the output: all others are uploaded and fetched meanwhile', async () => {
    let done = false;
    const behaviour: Behaviour = { finishedAtPoll: ({ chunk }) => (chunk === 2 && !done ? Infinity : 2) };
    await withJob({ behaviour, config: { concurrency: { folios: 3 } } }, async (job) => {
      const running = job.enrich();
      await expect
        .poll(
          () => new Set(job.service.seen.filter(({ operation }) => operation === 'download').map(chunkOf)),
          {
            interval: 5,
            timeout: 20_000,
          },
        )
        .toEqual(new Set([1, 3, 4, 5, 6]));
      done = true;
      await expectSuccess(job, await running, all);
      await expectEnriched(job);
      expect(job.service.mostOpen).toBe(3);
    });
  });
});

function chunkOf({ chunk }: { readonly chunk: number | null }): number | null {
  return chunk;
}

/** What is sent of a source's record, without its number. */
function sentOf(row: Readonly<Record<string, string>>): SentRecord {
  return { name: row.Business!, address: row.Address!, state: row.State! };
}
