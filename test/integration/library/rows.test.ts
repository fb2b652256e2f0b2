/** Rows in and rows out: records that a program hands in, rows that it takes as they come, and the confirmation that it has them. */
import { once } from 'node:events';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Config,
  collect,
  enrich,
  enrichedBytes,
  enrichedRecords,
  FoliopipeError,
  type OpenRun,
  openRun,
  planRun,
  publish,
  type RowSchema,
  type RunOptions,
  type RunSummary,
  retry,
  submit,
  summarizeRun,
  withRun,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { predictedAnswer } from '../../fake-service/parts.js';
import { enrichInto, enrichThrough } from '../../helpers/examples/rows-in-rows-out.js';
import { type Changes, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { predictedEnrichment, sourceText } from '../../helpers/jobs/sample-source.js';
import { withSpooledJob } from '../../helpers/jobs/spooled-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { callMain } from '../../helpers/processes/call-main.js';

type Row = Record<string, string>;

const text = sourceText(60);
const records = parse(text, { columns: true }) as Row[];
/** The rows of the output of some records, as objects. */
const rowsOf = (some: readonly Row[]): Row[] =>
  some.map((row) => {
    const { status, code, error, added } = predictedEnrichment(row);
    const { naics_code = '', naics_title = '', confidence = '' } = added;
    return {
      ...row,
      prediction_status: status,
      prediction_error_code: code,
      prediction_error: error,
      prediction_naics_code: naics_code,
      prediction_naics_title: naics_title,
      prediction_confidence: confidence,
    };
  });
const expected = rowsOf(records);
/** Its failures are known only when everything is paid. */
const oneChunk: Changes = { chunks: { maxRecords: 100 } };
const handed: Changes = { source: { path: '-' } };

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The rows of one loop over the records, and what the confirmation says. */
async function take(
  config: Config,
  options: RunOptions,
): Promise<{ rows: Row[]; summary: RunSummary; found: string }> {
  return withRun(config, options, async (run) => {
    const rows = await all(enrichedRecords(run));
    return { rows, summary: await run.confirm(), found: run.found };
  });
}

const uploads = (job: Job) =>
  [...job.service.acceptedByChunk().values()].reduce((sum, count) => sum + count, 0);
const spooled = (job: Job) => readdir(join(job.folder, '.foliopipe', 'spool', 'hostile.d')).catch(() => []);
const withRecords = (use: (job: Job) => Promise<void>, behaviour: Behaviour = {}) =>
  withJob({ behaviour, config: handed, files: {} }, use);

async function* slowly<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) {
    await setImmediate();
    yield item;
  }
}

describe('records that are handed in', () => {
  const bytes = Buffer.from(text);
  const pieces = [bytes.subarray(0, 100), bytes.subarray(100, 333), bytes.subarray(333)];
  it.each<[string, () => RunOptions['records']]>([
    ['a Readable', () => Readable.from(pieces)],
    ['a web stream', () => new Blob([text]).stream()],
    ['an async iterable of bytes', () => slowly(pieces)],
    ['an async iterable of objects', () => slowly(records)],
    ['a list of objects', () => records],
  ])('are %s, and the job does the rest', (_, give) =>
    withRecords(async (job) => {
      const summary = await job.enrich({}, { records: give()! });
      expect(summary).toMatchObject({ exitCode: 0, found: 'new', counts: { read: 60 } });
      expect(parse(await job.output(), { columns: true })).toEqual(expected);
    }),
  );

  it('go on with an unfinished run if they are the same, are refused if they are not, and are done in the end', () =>
    withRecords(async (job) => {
      const give = () => ({ records: slowly(records) });
      expect(await planRun(job.config(), { ...give(), signal: new AbortController().signal })).toMatchObject({
        next: { kind: 'begin', records: 60 },
      });
      const { run } = await submit(job.config(), give());
      const changed = { records: slowly(records.slice(1)) };
      await expect(enrich(job.config(), changed)).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
      expect(await enrich(job.config(), give())).toMatchObject({ run, found: 'continued', exitCode: 0 });
      expect(await enrich(job.config(), give())).toMatchObject({ run, found: 'done', exitCode: 0 });
      expect(uploads(job)).toBe(6);
    }));

  it('are kept for the second half of the job, which needs no records', () =>
    withRecords(async (job) => {
      const { run } = await submit(job.config(), { records });
      expect(await collect(job.config())).toMatchObject({ run, exitCode: 0 });
    }));

  it('supersede an unfinished run, although the source is looked for twice', () =>
    withRecords(async (job) => {
      await submit(job.config(), { records: slowly(records) });
      const config = job.config({ source: { onChange: 'supersede' } });
      const { rows, found } = await take(config, { records: slowly(records.slice(10)) });
      expect([rows, found]).toEqual([rowsOf(records.slice(10)), 'new']);
    }));

  it.each<[string, RunOptions['records'], string, object]>([
    ['none', [], 'SOURCE_EMPTY', {}],
    [
      'another key',
      [records[0]!, { ...records[1]!, extra: 'x' }],
      'SOURCE_RECORD_KEYS',
      { record: 2, key: 'extra' },
    ],
    ['a missing key', [{ a: '1', b: '2' }, { a: '1' }], 'SOURCE_RECORD_KEYS', { record: 2, key: 'b' }],
    ['a list as a value', [{ a: ['x'] }], 'SOURCE_RECORD_VALUE', { record: 1, key: 'a' }],
    ['not a number', [{ a: 1 }, { a: Number.NaN }], 'SOURCE_RECORD_VALUE', { record: 2, key: 'a' }],
    ['half a character', [{ a: 'x\ud800' }], 'SOURCE_RECORD_VALUE', { record: 1 }],
    ['bytes after an object', [{ a: '1' }, Buffer.from('x')], 'SOURCE_RECORD_VALUE', { record: 2 }],
  ])('are refused before anything is paid, and leave nothing: %s', (_, wrong, code, facts) =>
    withRecords(async (job) => {
      await expect(enrich(job.config(), { records: wrong! })).rejects.toMatchObject({ code, facts });
      expect([uploads(job), await spooled(job)]).toEqual([0, []]);
    }),
  );

  it('end the job with their own error as the cause, or with that of the abort, and leave nothing', () =>
    withRecords(async (job) => {
      const broken = new Error('the cursor is gone');
      const failing = async function* () {
        yield records[0]!;
        throw broken;
      };
      const failed = enrich(job.config(), { records: failing() });
      await expect(failed).rejects.toMatchObject({ code: 'SOURCE_RECORDS_FAILED', cause: broken });
      const closed: string[] = [];
      const reason = new Error('enough');
      const endless = function* (controller: AbortController) {
        setTimeout(() => controller.abort(reason), 1);
        try {
          for (;;) yield records[0]!;
        } finally {
          closed.push('closed');
        }
      };
      // An asynchronous one that never waits.
      const busy = async function* (controller: AbortController) {
        yield* endless(controller);
      };
      for (const give of [endless, busy, (stop: AbortController) => Readable.from(busy(stop))]) {
        const controller = new AbortController();
        const stopped = enrich(job.config(), { records: give(controller), signal: controller.signal });
        await expect(stopped).rejects.toMatchObject({ code: 'INTERRUPTED', cause: reason });
      }
      const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
      const waiting = enrich(job.config(), { records: silent, signal: AbortSignal.timeout(20) });
      await expect(waiting).rejects.toThrow();
      expect([closed, await spooled(job)]).toEqual([['closed', 'closed', 'closed'], []]);
    }));

  it('are refused beside a path', () =>
    withJob({}, async (job) => {
      await expect(enrich(job.config(), { records })).rejects.toMatchObject({ code: 'SOURCE_RECORDS_PATH' });
    }));

  it('are closed when the call is refused before it has read them', () =>
    withRecords(async (job) => {
      await using _ = await openRun(job.config(), { records });
      const opened: Readable[] = [];
      const give = () => {
        opened.push(Readable.from(pieces));
        return { records: opened.at(-1)! };
      };
      await expect(openRun(job.config(), give())).rejects.toMatchObject({ code: 'PIPELINE_LOCKED' });
      await expect(enrich(job.config(), give())).rejects.toMatchObject({ code: 'PIPELINE_LOCKED' });
      const besidePath = planRun(job.config({ source: { path: 'x.csv' } }), {
        ...give(),
        signal: new AbortController().signal,
      });
      await expect(besidePath).rejects.toBeInstanceOf(FoliopipeError);
      expect(opened.map((stream) => stream.destroyed)).toEqual([true, true, true]);
    }));
});

describe('rows out', () => {
  it('are the rows of the output, in order, and confirm ends the run', () =>
    withRecords(
      async (job) => {
        const { rows, summary } = await take(job.config(), { records });
        expect(rows).toEqual(expected);
        const done = { state: 'done', exitCode: 0, confirmed: true, published: false, output: null };
        expect(summary).toMatchObject({ ...done, counts: { read: 60, unprocessed: 0 } });
        expect(await job.published()).toEqual([]);
        // The same source is done, and gives its rows again; `enrich` pays nothing and writes nothing.
        expect(await take(job.config(), { records })).toMatchObject({ rows: expected, found: 'done' });
        expect(await job.enrich({}, { records })).toMatchObject({ ...done, found: 'done' });
        // Another source is a new run.
        expect(await take(job.config(), { records: records.slice(0, 20) })).toMatchObject({ found: 'new' });
        expect(uploads(job)).toBe(8);
      },
      { finishedAtPoll: ({ chunk }) => 7 - chunk },
    ));

  it('are the bytes of a CSV, with its header or without', () =>
    withRecords(async (job) => {
      await using run = await openRun(job.config(), { records });
      const stream = Readable.from(enrichedBytes(run));
      expect(parse(Buffer.concat(await all(stream)), { columns: true })).toEqual(expected);
      const bare = Buffer.concat(await all(enrichedBytes(run, { header: false })));
      expect(parse(bare)).toEqual(expected.map((row) => Object.values(row)));
      await run.confirm();
    }));

  it('are checked and typed by a schema, whose error names the record and the column', () =>
    withRecords(async (job) => {
      const schema = z.object({ Business: z.string(), prediction_confidence: z.string().transform(Number) });
      await withRun(job.config(), { records }, async (run) => {
        const typed: { Business: string; prediction_confidence: number }[] = await all(
          enrichedRecords(run, { schema }),
        );
        expect(typed).toHaveLength(60);
        expect(typeof typed[0]!.prediction_confidence).toBe('number');
      });
      const third = schema.extend({
        Business: z.string().refine((name) => name !== records[2]!.Business, 'is closed'),
      });
      await withRun(job.config(), { records }, async (run) => {
        const wrong = all(enrichedRecords(run, { schema: third }));
        const facts = { record: 3, column: 'Business' };
        await expect(wrong).rejects.toMatchObject({ code: 'ROW_INVALID', exitCode: 6, facts });
      });
    }));

  it('come once each to workers that ask at the same time, and are confirmed after the last one only', () =>
    withRecords(async (job) => {
      await withRun(job.config(), { records }, async (run) => {
        const rows = enrichedRecords(run);
        const got: Row[] = [];
        const work = async () => {
          for (let row = await rows.next(); !row.done; row = await rows.next()) got.push(row.value);
        };
        const refused = expect(run.confirm()).rejects.toMatchObject({ code: 'ROWS_NOT_GIVEN' });
        await Promise.all([refused, work(), work(), work(), work()]);
        expect(got).toEqual(expected);
        expect(await run.confirm()).toMatchObject({ state: 'done', confirmed: true });
      });
    }));

  it.each<[string, () => unknown, string]>([
    ['refuses the first record', () => ({ issues: [{ message: 'bad' }] }), 'does not fit the schema: "bad"'],
    [
      'throws',
      () => {
        throw new TypeError('no \u001b[31m');
      },
      'makes its schema fail: "no \\u{1b}[31m"',
    ],
    ['gives a rejected promise', () => Promise.reject(null), 'makes its schema fail: "null"'],
    ['gives no result', () => undefined, 'gets no result from its schema'],
  ])('end with ROW_INVALID when the schema %s, and cannot be confirmed', (_, validate, text) =>
    withRecords(async (job) => {
      const schema = { '~standard': { version: 1, vendor: 'test', validate } } as unknown as RowSchema<Row>;
      await withRun(job.config(oneChunk), { records }, async (run) => {
        const rows = enrichedRecords(run, { schema });
        const error = { code: 'ROW_INVALID', facts: { record: 1 }, message: expect.stringContaining(text) };
        await expect(rows.next()).rejects.toMatchObject(error);
        expect((await rows.next()).done).toBe(true);
        await expect(run.confirm()).rejects.toMatchObject({ code: 'ROWS_NOT_GIVEN' });
      });
    }),
  );

  it('are refused for what is no schema, and after the run was closed, which cannot be confirmed either', () =>
    withRecords(async (job) => {
      const run = await openRun(job.config(), { records });
      const wrong = { schema: {} as RowSchema<Row> };
      expect(() => enrichedRecords(run, wrong)).toThrow(/is not a Standard Schema/);
      const begun = enrichedRecords(run);
      await begun.next();
      await run.close();
      for (const call of [() => all(begun), () => all(enrichedRecords(run)), () => run.confirm()]) {
        await expect(call()).rejects.toMatchObject({ code: 'RUN_CLOSED', facts: { run: run.id } });
      }
    }));

  it.each([
    [
      'by close()',
      async (config: Config, use: (run: OpenRun) => Promise<unknown>) => {
        const run = await openRun(config, { records });
        await use(run);
        return run.close();
      },
    ],
    [
      'at the end of the block of withRun',
      async (config: Config, use: (run: OpenRun) => Promise<unknown>) => {
        await withRun(config, { records }, use);
      },
    ],
  ])(
    'of a run that is closed %s while an upload waits for its reply end when the reply is recorded',
    (_how, run) => {
      const [reply, arrived] = [new AbortController(), new AbortController()];
      const aborted = ({ signal }: AbortController) => once(signal, 'abort').then(() => undefined);
      const replied = aborted(reply);
      const hold: Behaviour['hold'] = ({ operation, chunk }) => {
        if (operation !== 'upload' || chunk !== 3) return undefined;
        arrived.abort();
        return replied;
      };
      return withRecords(
        async (job) => {
          const held = aborted(arrived);
          let begun: ReturnType<typeof enrichedRecords> | undefined;
          let id: string | undefined;
          await run(job.config(), async (opened) => {
            id = opened.id;
            begun = enrichedRecords(opened);
            await Promise.all([begun.next(), held]);
            setTimeout(() => reply.abort(), 100);
          });
          await expect(all(begun!)).rejects.toMatchObject({ code: 'RUN_CLOSED', facts: { run: id } });
          expect((await take(job.config(), { records })).rows).toEqual(expected);
          expect(uploads(job)).toBe(6);
        },
        { hold },
      );
    },
  );

  it('come while later chunks are still at the service, and only as fast as they are taken', () =>
    withRecords(
      async (job) => {
        await withRun(job.config(), { records }, async (run) => {
          const rows = enrichedRecords(run);
          await rows.next();
          await expect(all(enrichedRecords(run))).rejects.toMatchObject({ code: 'ROWS_TAKEN' });
          for (let i = 1; i < 10; i++) expect((await rows.next()).value).toEqual(expected[i]);
          await rows.return();
        });
        expect(job.service.mostOpen).toBeLessThanOrEqual(4);
      },
      { finishedAtPoll: ({ chunk }) => (chunk > 1 ? Number.POSITIVE_INFINITY : 1) },
    ));

  it('are left early: the loop ends at once, and the run goes on later, from the first row', () =>
    withRecords(
      async (job) => {
        const leave = async (run: OpenRun) => {
          for await (const row of enrichedRecords(run)) {
            expect(row).toEqual(expected[0]);
            break;
          }
          await expect(all(enrichedRecords(run))).rejects.toMatchObject({ code: 'RUN_STOPPED' });
          await expect(run.confirm()).rejects.toMatchObject({ code: 'ROWS_NOT_GIVEN', facts: { left: 60 } });
        };
        await withRun(job.config(), { records }, leave);
        // Also while it waits for a row that does not come.
        job.service.behaviour = { finishedAtPoll: () => Number.POSITIVE_INFINITY };
        await withRun(job.config({ poll: { first: '1h', max: '2h' } }), { records }, async (run) => {
          const rows = enrichedRecords(run);
          const [first] = [rows.next(), await setImmediate()];
          await rows.return();
          expect(await first).toEqual({ done: true, value: undefined });
        });
        job.service.behaviour = {};
        expect((await take(job.config(), { records })).rows).toEqual(expected);
        expect(uploads(job)).toBe(6);
      },
      { finishedAtPoll: ({ chunk }) => (chunk > 1 ? 3 : 1) },
    ));

  it('come after the rounds of failed records, each once', () =>
    withRecords(async (job) => {
      const { rows, summary } = await take(job.config({ failures: { rounds: 1 } }), { records });
      expect(rows.map(({ Business }) => Business)).toEqual(records.map(({ Business }) => Business));
      expect(summary).toMatchObject({ state: 'done', confirmed: true });
    }));

  it('have all columns from the first one on, when the service adds some in the middle of a run', () =>
    withRecords(
      async (job) => {
        const { rows, summary } = await take(job.config({ result: { onChange: 'add' } }), { records });
        const surprises = rows.map((row) => row.prediction_surprise);
        const wanted = expected.map(({ prediction_status: status }, at) =>
          status === 'SUCCESSFUL' && at >= 30 ? 'boo' : '',
        );
        expect(surprises).toEqual(wanted);
        expect(summary.columns).toContain('surprise');
      },
      {
        answer: (record) => {
          const { status, added } = predictedAnswer(record);
          const surprise =
            status === 'SUCCESSFUL' && Number(record.record_id) > 30 ? { surprise: 'boo' } : {};
          return { status, added: { ...added, ...surprise } };
        },
      },
    ));

  it('are all rows of a run that enrich had begun to write', () =>
    withRecords(async (job) => {
      const at = throwAt('after-merged-before-next');
      await expect(job.enrich({}, { records, at })).rejects.toThrow('killed');
      expect((await take(job.config(), { records })).rows).toEqual(expected);
      expect(await job.published()).toEqual([]);
    }));

  it('must not be used when too many records have failed and the output is withheld', () =>
    withRecords(async (job) => {
      const strict = { failures: { tolerate: 0, onExceeded: 'withhold' }, ...oneChunk };
      const rows: Row[] = [];
      await withRun(job.config(strict), { records }, async (run) => {
        const taking = (async () => {
          for await (const row of enrichedRecords(run)) rows.push(row);
        })();
        await expect(taking).rejects.toMatchObject({ code: 'ROWS_WITHHELD', exitCode: 9 });
        await expect(run.confirm()).rejects.toMatchObject({ code: 'ROWS_WITHHELD' });
      });
      expect(rows).toHaveLength(60);
      // It has ended: another source begins a run, and with more tolerance the rows are released.
      const released = await take(job.config({ ...strict, failures: { tolerate: '100%' } }), { records });
      expect(released).toMatchObject({
        rows: expected,
        found: 'done',
        summary: { state: 'done', confirmed: true },
      });
    }));
});

describe('confirm', () => {
  it('is refused while rows are missing, and does nothing more for a done run', () =>
    withRecords(async (job) => {
      await withRun(job.config(), { records }, async (run) => {
        await expect(run.confirm()).rejects.toMatchObject({
          code: 'ROWS_NOT_GIVEN',
          facts: { given: 0, left: 60 },
        });
        await all(enrichedRecords(run));
        const { path } = run.source.files[0]!;
        const source = await readFile(path);
        await appendFile(path, 'x');
        await expect(run.confirm()).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
        await writeFile(path, source);
        const [summary, second] = await Promise.all([run.confirm(), run.confirm()]);
        expect(second.state).toBe('done');
        const { state, finishedAt, counts } = summary;
        expect(await run.confirm()).toMatchObject({ run: run.id, state, finishedAt, counts });
      });
    }));

  it('is refused after the search for failed records has stopped, when no row was given yet', () =>
    withRecords(async (job) => {
      const config = job.config({
        failures: { rescue: 'search', rescueColumns: { naics_code: 'naics_code' } },
        service: { legacyBaseUrl: job.service.url },
        budget: { perRun: 60 },
      });
      await withRun(config, { records }, async (run) => {
        await expect(all(enrichedRecords(run))).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
        const facts = { given: 0, left: 60 };
        await expect(run.confirm()).rejects.toMatchObject({ code: 'ROWS_NOT_GIVEN', facts });
      });
    }));

  it('says exit code 3 where enrich would, with the same reasons', () =>
    withRecords(async (job) => {
      const changes = { failures: { tolerate: 0 }, ...oneChunk };
      const { summary } = await take(job.config(changes), { records });
      expect(summary).toMatchObject({ state: 'done', exitCode: 3, confirmed: true });
      const written = await job.enrich(changes, { records, fresh: true });
      expect(written.failedBy).not.toEqual([]);
      expect(summary.failedBy).toEqual(written.failedBy);
    }));

  it('is done once for all who ask at the same time, also when the run is closed then', () =>
    withRecords(async (job) => {
      const config = job.config({ reuse: { maxAge: '30d' } });
      const run = await openRun(config, { records });
      await all(enrichedRecords(run));
      const asked = Promise.all([run.confirm(), run.confirm(), run.confirm()]);
      await run.close();
      expect((await asked).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect(await readdir(join(job.folder, '.foliopipe', 'reuse', 'segments'))).toHaveLength(1);
    }));

  it('and the rows are not stopped by a listener that throws, or by a logger', () =>
    withRecords(async (job) => {
      const fail = () => {
        throw new Error('the metrics are down');
      };
      const logger = { debug: fail, info: fail, warn: fail, error: fail };
      const options = { records, logger, onProgress: fail };
      expect((await take(job.config(), options)).summary).toMatchObject({ exitCode: 0, state: 'done' });
    }));

  it('is final: a retry is refused, and a new run asks for the failed records alone', () =>
    withRecords(async (job) => {
      const config = job.config({ reuse: { maxAge: '30d', failedAge: 0, maxMiss: '100%' } });
      const { summary } = await take(config, { records });
      await expect(retry(config, summary.run)).rejects.toMatchObject({
        code: 'RETRY_CONFIRMED',
        exitCode: 2,
      });
      const again = await take(config, { records, fresh: true });
      expect(again.rows).toEqual(expected);
      expect(again.summary.origins.reused.records).toBe(summary.counts.successful);
    }));

  it('is repeated after a kill, with the same result', () =>
    withRecords(async (job) => {
      await withRun(job.config(), { records }, async (run) => {
        await all(enrichedRecords(run));
        Object.assign(run.checkpoint, { recordConfirmed: () => Promise.reject(new Error('killed')) });
        await expect(run.confirm()).rejects.toThrow('killed');
      });
      const { rows, found, summary } = await take(job.config(), { records });
      expect(rows).toEqual(expected);
      expect([found, summary.state, uploads(job)]).toEqual(['continued', 'done', 6]);
    }));

  it('keeps the answers for later runs, and the run can still be published', () =>
    withRecords(async (job) => {
      const reuse = { reuse: { maxAge: '30d', maxMiss: '100%' } };
      const { summary } = await take(job.config(reuse), { records: records.slice(0, 50) });
      const second = await take(job.config(reuse), { records });
      expect(second.rows).toEqual(expected);
      expect(second.summary.origins.reused.records).toBeGreaterThanOrEqual(50);
      expect(await publish(job.config(reuse), second.summary.run)).toMatchObject({
        published: true,
        confirmed: false,
      });
      expect(parse(await job.output(), { columns: true })).toEqual(expected);
      const older = publish(job.config(reuse), summary.run);
      const hint = expect.stringMatching(/^pass the same records to openRun or enrich/);
      await expect(older).rejects.toMatchObject({ code: 'SOURCE_COPY_GONE', hint });
      await take(job.config(reuse), { records: records.slice(0, 50) });
      expect(await publish(job.config(reuse), summary.run)).toMatchObject({ published: true });
      expect(await job.enrich(reuse, { records })).toMatchObject({ found: 'done', published: true });
    }));

  it('is what the command line shows of the run', () =>
    withSpooledJob({ path: '-' }, async (job) => {
      const { summary } = await take(job.config(handed), { records });
      const say = async (...args: string[]) =>
        (await callMain([...args, '-c', job.file], { cwd: job.folder })).stdout;
      expect(await say('runs')).toMatch(new RegExp(`${summary.run} .* exit 0 +no output, confirmed`));
      const status = await say('status');
      expect(status).toMatch(
        /output {4}none: a program took the rows and confirmed them; to write a file: foliopipe publish/,
      );
      expect(status).toContain('source: records, copied');
    }));

  it('ends a chain of one’s own too', () =>
    withRecords(async (job) => {
      await withRun(job.config(), { records }, async (run) => {
        await all(enrichedBytes(run));
        expect(await summarizeRun(run, run.id, run.found)).toMatchObject({ state: 'open' });
        expect(await run.confirm()).toMatchObject({ state: 'done' });
      });
    }));
});

describe('the examples of docs/embedding.md', () => {
  it('save the rows of a cursor', () =>
    withRecords(async (job) => {
      const saved: object[] = [];
      const summary = await enrichInto(job.config(), slowly(records), async (row) => void saved.push(row));
      expect(summary).toMatchObject({ confirmed: true, exitCode: 0 });
      expect(saved).toEqual(
        expected.map(({ Business, prediction_status, prediction_confidence }) => ({
          Business,
          prediction_status,
          prediction_confidence: prediction_confidence === '' ? null : Number(prediction_confidence),
        })),
      );
    }));

  it('enrich a stream into another', () =>
    withRecords(async (job) => {
      const target = new PassThrough();
      const [summary, csv] = await Promise.all([
        enrichThrough(job.config(), Readable.from([text]), target),
        all<Buffer>(target),
      ]);
      expect(summary.confirmed).toBe(true);
      expect(parse(Buffer.concat(csv), { columns: true })).toEqual(expected);
    }));

  it('stand there word for word', async () => {
    const docs = await readFile(new URL('../../../docs/embedding.md', import.meta.url), 'utf8');
    const file = new URL('../../helpers/examples/rows-in-rows-out.ts', import.meta.url);
    const example = await readFile(file, 'utf8');
    const shown = example
      .slice(example.indexOf('\n') + 1)
      .replace("'../../../pipelines/index.js'", "'foliopipe'");
    expect(docs).toContain(`\`\`\`ts\n${shown}\`\`\``);
  });
});
