/** A program that embeds the library: the library prints nothing, reads no environment, never exits, and closes everything. */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';

const library = new URL('../../../dist/bundle/index.js', import.meta.url).href;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** The content of `answer.json`, which the program wrote. */
  readonly answer: Record<string, unknown>;
}

/** Runs a program in the folder of the job, with environment variables that would break a library that reads them. */
async function runProgram(job: Job, body: string): Promise<Ended> {
  const program = path.join(job.folder, 'program.mjs');
  await writeFile(program, `${head(job)}\n${body}\n`);
  const misleading = {
    FOLIOPIPE_PIPELINE: 'misled',
    FOLIOPIPE_CHUNKS__MAX_RECORDS: '1',
    FOLIOPIPE_TOKEN: 'wrong',
    FOLIOPIPE_CRASH_AT: 'after-cut-before-intent',
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
  };
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...misleading },
    timeout: 30_000,
  });
  let output = '';
  child.stdout.on('data', (piece) => {
    output += piece;
  });
  child.stderr.on('data', (piece) => {
    output += piece;
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('close', (...ending) => resolve(ending));
  });
  const answer = await readFile(path.join(job.folder, 'answer.json'), 'utf8').catch(() => '{}');
  return { code, signal, output, answer: JSON.parse(answer) };
}

function head(job: Job): string {
  const { token, url } = job.service;
  return `
import { writeFileSync } from 'node:fs';
import { enrich, enrichedRecords, openRun, parseConfig, FoliopipeError, RefusedError } from ${JSON.stringify(library)};
const { env } = process;
const read = [];
process.env = new Proxy(env, {
  get: (target, name) => {
    if (/^(FOLIOPIPE_|HTTPS?_PROXY|NO_PROXY)/i.test(String(name))) read.push(name);
    return Reflect.get(target, name);
  },
  ownKeys: (target) => {
    read.push('all of it');
    return Reflect.ownKeys(target);
  },
});
process.exit = () => {
  throw new Error('the library wants to exit');
};
const answer = (value) => writeFileSync('${job.folder}/answer.json', JSON.stringify({ ...value, read }));
const configOf = (pipeline, output, more = {}) => parseConfig({
  pipeline,
  source: { path: 'source.csv' },
  upload: { columns: { name: 'Business', address: 'Address', state: 'State' } },
  service: { baseUrl: '${url}', token: '${token}', requestsPerSecond: 1000 },
  chunks: { maxRecords: 10 },
  poll: { first: '5ms', max: '20ms' },
  failures: { tolerate: '100%' },
  output: { path: output },
  stateDir: pipeline,
  ...more,
}, '${job.folder}');`;
}

describe('a program that embeds the library', () => {
  it('runs two pipelines at once without output, and ends by itself', async () => {
    await withJob({}, async (job) => {
      const ended = await runProgram(
        job,
        `
const messages = [];
const log = (level) => (fields, message) => messages.push({ level, message });
const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
const { signal } = new AbortController();
const summaries = await Promise.all([
  enrich(configOf('day', 'out/enriched.csv'), { signal, logger }),
  enrich(configOf('night', 'out/other.csv'), { signal }),
]);
answer({ summaries, messages: messages.length });`,
      );
      expect(ended).toMatchObject({ code: 0, signal: null, output: '' });
      expect(ended.answer).toMatchObject({
        read: [],
        summaries: [
          { pipeline: 'day', exitCode: 0, found: 'new', chunks: { all: 6 } },
          { pipeline: 'night', exitCode: 0, found: 'new', chunks: { all: 6 } },
        ],
      });
      expect(ended.answer.messages).toBeGreaterThan(0);
      await expectEnriched(job);
      expect(await readFile(path.join(job.folder, 'out', 'other.csv'), 'utf8')).toBe(await job.output());
    });
  });

  it('distinguishes errors by class and code, goes on after them, and ends by itself', async () => {
    await withJob({}, async (job) => {
      const ended = await runProgram(
        job,
        `
const caught = [];
const attempt = async (make, options) => {
  try {
    await enrich(make(), options);
  } catch (error) {
    const known = error instanceof FoliopipeError;
    caught.push({ known, name: error.name, code: error.code, exitCode: error.exitCode, hint: !!error.hint });
    return error;
  }
};
const refused = await attempt(() => configOf('a', 'a.csv', { service: { baseUrl: '${job.service.url}', token: 'no' } }));
await attempt(() => configOf('b', 'b.csv', { surprise: 1 }));
await attempt(() => configOf('c', 'c.csv', { source: { path: 'missing.csv' } }));
await Promise.all([attempt(() => configOf('d', 'd.csv')), attempt(() => configOf('d', 'd.csv'))]);
await attempt(() => configOf('e', 'e.csv'), { signal: AbortSignal.abort(new Error('enough')) });
await attempt(() => configOf('f', 'f.csv', { service: { embedded: true } }));
answer({ caught, isRefused: refused instanceof RefusedError });`,
      );
      expect(ended).toMatchObject({ code: 0, signal: null, output: '' });
      expect(ended.answer).toEqual({
        read: [],
        isRefused: true,
        caught: [
          { known: true, name: 'RefusedError', code: 'TOKEN_REFUSED', exitCode: 7, hint: true },
          {
            known: true,
            name: 'ConfigError',
            code: 'CONFIG_INVALID',
            exitCode: 2,
            hint: expect.any(Boolean),
          },
          { known: true, name: 'SourceError', code: 'SOURCE_MISSING', exitCode: 4, hint: true },
          { known: true, name: 'LockedError', code: 'PIPELINE_LOCKED', exitCode: 11, hint: false },
          { known: true, name: 'InterruptedError', code: 'INTERRUPTED', exitCode: 143, hint: true },
          { known: true, name: 'ConfigError', code: 'SERVICE_NOT_STARTED', exitCode: 2, hint: true },
        ],
      });
    });
  });

  it('may leave the rows of a run early, also without closing it, and ends by itself', async () => {
    await withJob(
      { behaviour: { finishedAtPoll: ({ chunk }) => (chunk > 1 ? Infinity : 1) } },
      async (job) => {
        const ended = await runProgram(
          job,
          `
const run = await openRun(configOf('day', 'out/enriched.csv', { poll: { first: '5ms', max: '1h' } }));
for await (const row of enrichedRecords(run)) {
  answer({ first: row.prediction_status !== undefined });
  break;
}`,
        );
        expect(ended).toMatchObject({ code: 0, signal: null, output: '' });
        expect(ended.answer).toEqual({ first: true, read: [] });
      },
    );
  });

  it('may stop a run that waits, and ends by itself', async () => {
    await withJob({ behaviour: { finishedAtPoll: () => Number.POSITIVE_INFINITY } }, async (job) => {
      const ended = await runProgram(
        job,
        `
const controller = new AbortController();
setTimeout(() => controller.abort(new Error('the program has had enough')), 300);
const config = configOf('day', 'out/enriched.csv', { poll: { first: '1m', max: '5m' } });
const message = await enrich(config, { signal: controller.signal }).catch((error) => error.message);
answer({ message });`,
      );
      expect(ended).toMatchObject({ code: 0, signal: null, output: '' });
      expect(ended.answer).toEqual({
        message: 'stopped by its caller: the program has had enough',
        read: [],
      });
    });
  });
});
