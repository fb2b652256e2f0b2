/** An output at `s3://`, with the real command and a real server (what that lacks: test/helpers/s3/s3-server.ts). */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkSetup, createOutputStore, enrich, type LoadTarget, planRun } from '../../../pipelines/index.js';
import { withJob } from '../../helpers/jobs/fake-service-job.js';
import { fineNames, type LocalJob, withLocalJob } from '../../helpers/jobs/local-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { openS3Server, type S3Server, s3Environment, useS3Environment } from '../../helpers/s3/s3-server.js';

let server: S3Server;
beforeEach(async () => {
  useS3Environment();
  server = await openS3Server();
});
afterEach(() => server.close());

/** What stands at the key of an output and beside it. The local service never makes a `_SUCCESS`. */
const ENDS = ['', '._REHEARSAL', '.manifest.json'];

function withS3Job(
  use: (job: LocalJob) => Promise<void>,
  names = fineNames(30),
  key = 'night/enriched.csv',
  more: Readonly<Record<string, object>> = {},
): Promise<void> {
  const s3 = { endpoint: server.url, forcePathStyle: true };
  const output = { path: `s3://${server.bucket}/${key}`, s3 };
  return withLocalJob({ names, config: { ...more, output: { ...output, ...more.output } } }, use);
}

const run = (job: LocalJob, ...args: string[]) =>
  callMain(['run', ...args, '-c', job.file], { env: s3Environment });

/** The content of an object. */
function objectAt(job: Pick<LocalJob, 'config'>, key: string): Promise<string> {
  return textOf(createOutputStore(job.config()).stream(`s3://${server.bucket}/${key}`));
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

/** What the same run publishes into a local file. */
async function localOutput(job: LocalJob): Promise<string> {
  const { code, stderr } = await callMain(['publish', 'last', '--output', job.output, '-c', job.file], {
    env: s3Environment,
  });
  expect(code, stderr).toBe(0);
  return readFile(job.output, 'utf8');
}

/** Requests that change something, after those of the last run. */
function changes(): string[] {
  const found = server.seen.filter(
    ({ what, key }) => /^(PUT|POST complete|DELETE$)/.test(what) && !key.endsWith('.rights'),
  );
  return found.map(({ what, key }) => `${what} ${key.replace('night/enriched.csv', '*')}`);
}

describe('an output in S3', () => {
  it('is published with its marker last, and stays as it is when the command runs again', async () => {
    await withS3Job(async (job) => {
      const first = await run(job, '--json');
      expect(first.code, first.stderr).toBe(0);
      expect(await server.keys()).toEqual(ENDS.map((end) => `night/enriched.csv${end}`));
      expect(await server.uploads()).toEqual({});
      expect(changes()).toEqual(['PUT *', 'PUT *.manifest.json', 'PUT *._REHEARSAL']);
      const path = `s3://${server.bucket}/night/enriched.csv`;
      expect(jsonLines(first.stdout).at(-1)).toMatchObject({
        output: { path, inPlace: true },
        marker: `${path}._REHEARSAL`,
      });
      expect(await readdir(join(job.folder, 'state', 'outputs'))).toEqual([]);

      server.seen.length = 0;
      const again = await run(job, '--json');
      expect(jsonLines(again.stdout).at(-1)).toMatchObject({ found: 'done', publication: 1, exitCode: 0 });
      expect(changes()).toEqual([]);
      const status = await callMain(['status', '--json', '-c', job.file], { env: s3Environment });
      expect(jsonLines(status.stdout).at(-1)).toMatchObject({ output: { inPlace: true } });

      const written = await objectAt(job, 'night/enriched.csv');
      expect(written).toBe(await localOutput(job));
      expect(await job.rows()).toHaveLength(30);
    });
  });

  it('replaces that of the last night, whose marker is removed first', async () => {
    await withS3Job(async (job) => {
      await job.enrich();
      await writeFile(job.source, (await readFile(job.source, 'utf8')).replaceAll('Main St', 'Side St'));
      server.seen.length = 0;
      await job.enrich();
      expect(changes()).toEqual(['DELETE *._REHEARSAL', 'PUT *', 'PUT *.manifest.json', 'PUT *._REHEARSAL']);
      expect(await objectAt(job, 'night/enriched.csv')).toContain('Side St');
      const marker = JSON.parse(await objectAt(job, 'night/enriched.csv._REHEARSAL'));
      expect(marker).toMatchObject({ publication: 2 });
    });
  });

  it('is written again where it was removed, and left alone where somebody else has changed it', async () => {
    await withS3Job(async (job) => {
      await job.enrich();
      const store = createOutputStore(job.config());
      const name = `s3://${server.bucket}/night/enriched.csv`;
      const before = await objectAt(job, 'night/enriched.csv');
      await store.remove(name);
      expect(await job.enrich()).toMatchObject({ found: 'done', publication: 2 });
      expect(await objectAt(job, 'night/enriched.csv')).toBe(before);
      const other = join(job.folder, 'other.csv');
      await writeFile(other, 'of somebody else\n');
      await store.put(other, name, 0o640);
      expect(await job.failure()).toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
      expect(await objectAt(job, 'night/enriched.csv')).toBe('of somebody else\n');
    });
  });

  it('of another pipeline is not replaced, and nothing is paid', async () => {
    await withS3Job(async (job) => {
      await job.enrich();
      const folios = (await job.served()).length;
      const other = { ...job.config(), pipeline: 'other', stateDir: join(job.folder, 'other') };
      await expect(enrich(other)).rejects.toMatchObject({ code: 'OUTPUT_OF_OTHER_PIPELINE', exitCode: 2 });
      expect((await job.served()).length).toBe(folios);
    });
  });

  it.each([
    'after-publishing-before-rename',
    'after-rename-before-manifest',
    'after-manifest-before-marker',
    'after-marker-before-done',
  ] as const)('is finished after a kill at %s, and never has a marker before that', async (point) => {
    const output = {
      path: `s3://${server.bucket}/out.csv`,
      s3: { endpoint: server.url, forcePathStyle: true },
    };
    await withJob({ config: { output } }, async (job) => {
      const at = throwAt(point);
      await expect(job.enrich()).resolves.toMatchObject({ publication: 1 });
      await writeFile(job.sourcePath, sourceText(20));
      await expect(job.enrich({}, { at })).rejects.toThrow('killed');
      const marker = (await server.keys()).filter((key) => key.endsWith('._SUCCESS'));
      // At the first moment the output of before stands there untouched.
      const isBetween = /rename-before|manifest-before/.test(point);
      expect(marker).toHaveLength(isBetween ? 0 : 1);
      const asked = job.service.seen.length;
      const { publication, output: published } = await job.enrich();
      expect(job.service.seen.length).toBe(asked);
      expect(published).toMatchObject({ inPlace: true, records: 20 });
      expect(await server.keys()).toEqual(['out.csv', 'out.csv._SUCCESS', 'out.csv.manifest.json']);
      expect(JSON.parse(await objectAt(job, 'out.csv._SUCCESS'))).toMatchObject({ publication });
      expect(await readdir(join(job.folder, '.foliopipe', 'outputs'))).toEqual([]);
    });
  });

  it('does not keep status from saying the rest when its store is down', async () => {
    await withS3Job(async (job) => {
      await job.enrich();
      server.before = () => ({ status: 503, code: 'SlowDown' });
      const status = await callMain(['status', '-c', job.file], { env: s3Environment });
      expect(status.code, status.stderr).toBe(0);
      expect(status.stdout).toMatch(/is done[\s\S]*enriched\.csv is in place is not known/);
    });
  });

  it('has a path for each night, and is read back by a load', async () => {
    const load = { into: 'postgres://nobody@127.0.0.1:1/none', table: 'businesses', mode: 'replace' };
    const path = `s3://${server.bucket}/runs/{run}/enriched.csv`;
    const output = { path, s3: { endpoint: server.url, forcePathStyle: true } };
    await withJob({ config: { output, load } }, async (job) => {
      const texts: string[] = [];
      const loadTarget: LoadTarget = {
        check: async () => undefined,
        load: async ({ file }) => {
          texts.push(await textOf(file.open()));
          return { already: false, base: null, written: 60, removed: 0, added: [] };
        },
      };
      const { run: id, load: report } = await job.enrich({}, { loadTarget });
      expect(report).toMatchObject({ state: 'loaded', written: 60 });
      const ends = ['', '._SUCCESS', '.manifest.json'];
      expect(await server.keys()).toEqual(ends.map((end) => `runs/${id}/enriched.csv${end}`));
      expect(texts).toEqual([await objectAt(job, `runs/${id}/enriched.csv`)]);
    });
  });
});

describe('an output in S3 that cannot be written', () => {
  it.each([
    ['the bucket is missing', { status: 404, code: 'NoSuchBucket' }, 2, 'OUTPUT_BUCKET_MISSING'],
    ['writing is denied', { status: 403, code: 'AccessDenied' }, 7, 'OUTPUT_DENIED'],
  ])('is refused by run, plan and check before anything is paid: %s', async (_, refusal, exitCode, code) => {
    await withS3Job(async (job) => {
      const checked = async () => {
        for await (const item of checkSetup(job.config())) if (item.item === 'output') return item;
        throw new Error('the output is not checked');
      };
      const refused = { code, exitCode };
      server.before = ({ what }) => (what === 'POST begin' ? refusal : undefined);
      expect(await job.failure()).toMatchObject(refused);
      const { signal } = new AbortController();
      await expect(planRun(job.config(), { signal })).rejects.toMatchObject(refused);
      expect((await checked()).error).toMatchObject(refused);
      expect(await job.served()).toEqual([]);
      server.before = () => undefined;
      const text = `s3://${server.bucket}/night/enriched.csv can be written to`;
      expect(await checked()).toMatchObject({ outcome: 'ok', text });
      expect(await server.keys()).toEqual([]);
    });
  });

  it.each(['check', 'plan'])('is asked by the command %s at the address of the config', async (command) => {
    await withS3Job(async (job) => {
      const { code, stderr } = await callMain([command, '-c', job.file], { env: s3Environment });
      expect(server.seen.map(({ what }) => what)).toContain('POST begin');
      expect(code, stderr).toBe(0);
    });
  });

  it('without credentials is exit 7, and credentials are shown nowhere', async () => {
    await withS3Job(async (job) => {
      const none = await runCli(['run', '-c', job.file], {
        env: { AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true', HOME: job.folder },
      });
      expect(none.code, none.stderr).toBe(7);
      expect(none.stderr).toMatch(/\[OUTPUT_DENIED\][\s\S]*AWS_PROFILE/);
      const end = await run(job, '--json', '--log-level', 'debug');
      expect(end.code).toBe(0);
      const state = join(job.folder, 'state');
      const kept = await Promise.all(
        (await readdir(state, { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
      );
      const shown = [end.stdout, end.stderr, none.stderr, ...kept].join('\n');
      expect(shown).not.toContain(s3Environment.AWS_SECRET_ACCESS_KEY);
    });
  });

  it('for a while is exit 5, and the same command goes on without paying again', async () => {
    await withS3Job(async (job) => {
      server.before = ({ what, key }) =>
        what === 'PUT' && key.endsWith('.manifest.json') ? { status: 500, code: 'InternalError' } : undefined;
      expect(await job.failure()).toMatchObject({ code: 'OUTPUT_STORE_DOWN', exitCode: 5 });
      const folios = (await job.served()).length;
      server.before = () => undefined;
      expect(await job.enrich()).toMatchObject({ exitCode: 0, publication: 1 });
      expect((await job.served()).length).toBe(folios);
      expect(await server.keys()).toEqual(ENDS.map((end) => `night/enriched.csv${end}`));
    });
  });
});

describe('a process that ends while a large output is sent', () => {
  /** About 23 MB in 10,000 records: three parts. */
  const names = fineNames(10_000);
  const widen = async (job: LocalJob) => {
    const source = await readFile(job.source, 'utf8');
    await writeFile(job.source, source.replaceAll(/(note \d+)\n/g, `$1 ${'x'.repeat(2200)}\n`));
  };

  it('by SIGTERM: the next run goes on with its upload', async () => {
    await withS3Job(
      async (job) => {
        await widen(job);
        const first = spawnCli(['run', '-c', job.file], { env: s3Environment });
        server.before = ({ what }) => {
          if (what !== 'PUT part') return undefined;
          first.kill('SIGTERM');
          return new Promise(() => undefined);
        };
        const end = await first.ended;
        expect(end.code, end.stderr).toBe(143);
        expect(await server.keys()).toEqual([]);
        server.before = () => undefined;
        server.seen.length = 0;
        const second = await run(job);
        expect(second.code, second.stderr).toBe(0);
        // The one that is begun and given up to learn whether it may be.
        expect(server.seen.filter(({ what }) => what === 'POST begin')).toHaveLength(1);
        expect(server.seen.filter(({ what }) => what === 'DELETE upload')).toHaveLength(1);
        expect(await server.uploads()).toEqual({});
      },
      names,
      'night/enriched.csv',
      { chunks: { maxRecords: 2500 } },
    );
  });

  it('by kill -9 in the middle of the parts: the next run goes on with them, and pays nothing', async () => {
    await withS3Job(
      async (job) => {
        await widen(job);
        const first = spawnCli(['run', '-c', job.file], { env: s3Environment });
        let parts = 0;
        // The first part arrives; while the second is on its way the process is killed.
        server.before = ({ what }) => {
          if (what !== 'PUT part' || ++parts < 2) return undefined;
          return new Promise((resolve) => {
            const look = setInterval(async () => {
              if (Object.values(await server.uploads())[0] !== 1) return;
              clearInterval(look);
              first.kill('SIGKILL');
              resolve({ status: 500, code: 'InternalError' });
            }, 5);
          });
        };
        expect((await first.ended).signal).toBe('SIGKILL');
        expect(await server.keys()).toEqual([]);
        expect(await server.uploads()).toEqual({ 'night/enriched.csv': 1 });
        const folios = (await job.served()).length;

        server.before = () => undefined;
        server.seen.length = 0;
        const second = await run(job, '--json');
        expect(second.code, second.stderr).toBe(0);
        expect(server.seen.filter(({ what }) => what === 'PUT part')).toHaveLength(2);
        expect(await server.uploads()).toEqual({});
        expect(await server.keys()).toEqual(ENDS.map((end) => `night/enriched.csv${end}`));
        expect((await job.served()).length).toBe(folios);

        server.seen.length = 0;
        expect((await run(job)).code).toBe(0);
        expect(changes()).toEqual([]);
        const written = await objectAt(job, 'night/enriched.csv');
        expect(written === (await localOutput(job))).toBe(true);
      },
      names,
      'night/enriched.csv',
      { chunks: { maxRecords: 2500 } },
    );
  });
});
