/**
 * Outputs that are stored as gzip, zstd or Parquet, as their path ends: the same CSV in each, resumable at any moment,
 * and refused before anything is paid where it cannot be written. zstd needs Node 22.15.
 */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type ConfigError, type Failpoint, publish } from '../../../pipelines/index.js';
import { hashFile } from '../../../src/streams/file-identity.js';
import { queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { type Changes, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { readManifest } from '../../helpers/jobs/read-manifest.js';
import { readRaw } from '../../helpers/jobs/sample-source.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const { zstdDecompress } = zlib as { zstdDecompress?: typeof zlib.gunzip };
const formats = ['csv.gz', 'parquet', ...(zstdDecompress === undefined ? [] : ['csv.zst'])];

const to = (format: string, more: Changes = {}): Changes => ({
  output: { path: `out/rows.${format}`, ...more },
});
const pathOf = (job: Job, format: string) => join(job.folder, 'out', `rows.${format}`);

/** The rows of a Parquet file as those of a CSV: empty cells are empty, whether or not they are null. */
async function readParquet(path: string): Promise<Record<string, string>[]> {
  const rows = await queryDuckdb(':memory:', `SELECT * FROM read_parquet('${path}')`);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? '' : String(value)]),
    ),
  );
}

/** Expects the output to hold the same CSV as that of an uninterrupted run that writes a plain one. */
async function expectContent(job: Job, format: string): Promise<void> {
  const path = pathOf(job, format);
  const csv = await unbrokenOutput();
  if (format === 'parquet') {
    expect(await readParquet(path)).toEqual(readRaw(csv).map(({ record }) => record));
  } else {
    const decompress = promisify(format === 'csv.gz' ? zlib.gunzip : zstdDecompress!);
    expect(String(await decompress(await readFile(path)))).toBe(csv);
  }
  const { output } = await readManifest(path);
  expect(output).toMatchObject({ path, format, records: 60, ...(await hashFile(path)) });
  const marker = JSON.parse(await readFile(`${path}._SUCCESS`, 'utf8'));
  expect(marker.output).toMatchObject((await hashFile(path)) as object);
  await writeFile(join(job.folder, 'content.csv'), csv);
  expect(output.content).toEqual(await hashFile(join(job.folder, 'content.csv')));
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await job.published()).toEqual(
    ['', '._SUCCESS', '.manifest.json'].map((end) => `rows.${format}${end}`),
  );
}

describe.each(formats)('an output that ends in .%s', (format) => {
  it('holds the CSV, is recognised, and is published again where it is missing or changed', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich(to(format));
      expect(first).toMatchObject({ exitCode: 0, publication: 1 });
      await expectContent(job, format);
      const seen = job.service.seen.length;
      expect(await job.enrich(to(format))).toMatchObject({ found: 'done', publication: 1 });

      const path = pathOf(job, format);
      const bytes = await readFile(path);
      await writeFile(path, Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.at(-1)! ^ 1])]));
      expect(await job.failure(to(format))).toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
      expect(await publish(job.config(to(format)), first.run)).toMatchObject({ publication: 2 });
      await expectContent(job, format);

      expect(await job.enrich()).toMatchObject({ found: 'done', publication: 3 });
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(await job.enrich(to(format))).toMatchObject({ found: 'done', publication: 4 });
      expect(job.service.seen.length).toBe(seen);
    });
  });

  const windows: readonly Failpoint[] = [
    'after-encoded-before-publishing',
    'after-publishing-before-rename',
    'after-rename-before-manifest',
    'after-marker-before-done',
  ];
  it.concurrent.each(windows)('killed %s, is finished by the same command', async (point) => {
    await withJob({ behaviour }, async (job) => {
      const at = throwAt(point);
      await expect(job.enrich(to(format), { at })).rejects.toThrow('killed');
      const seen = job.service.seen.length;
      expect(await job.enrich(to(format))).toMatchObject({ exitCode: 0, publication: 1 });
      expect(job.service.seen.length).toBe(seen);
      await expectContent(job, format);
    });
  });

  it('is made again when what waits for its place was lost or damaged', async () => {
    await withJob({ behaviour }, async (job) => {
      const at = throwAt('after-publishing-before-rename');
      await expect(job.enrich(to(format), { at })).rejects.toThrow('killed');
      const waiting = (await readdir(join(job.folder, 'out'))).find((name) => name.endsWith('.out'))!;
      await writeFile(join(job.folder, 'out', waiting), 'x');
      expect(await job.failure(to(format))).toMatchObject({ code: 'WORK_FILE_CHANGED', exitCode: 5 });
      expect(await job.enrich(to(format))).toMatchObject({ exitCode: 0 });
      await expectContent(job, format);
    });
  });
});

describe('types of a Parquet output', () => {
  const types = { prediction_confidence: 'double', id: 'decimal(12,0)' };

  it('are written, described in the manifest, and another type publishes the run again', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich(to('parquet', { types }));
      const path = pathOf(job, 'parquet');
      const { schema } = await readManifest(path);
      const typed = schema.filter(({ type }) => type !== 'string');
      expect(typed).toEqual([
        { name: 'id', type: 'decimal(12,0)', from: 'source' },
        { name: 'prediction_confidence', type: 'double', from: 'service' },
      ]);
      const [row] = await readParquet(path);
      expect(Number(row!.prediction_confidence)).toBeGreaterThan(0);
      const changed = { types: { ...types, id: 'bigint' } };
      expect((await job.enrich(to('parquet', changed))).publishedAgain).toContain('output.types');
    });
  });

  it('that a value does not fit leave the run open, and mended they publish it without paying again', async () => {
    await withJob({ behaviour }, async (job) => {
      const wrong = to('parquet', { types: { Business: 'date' } });
      expect(await job.failure(wrong)).toMatchObject({
        code: 'OUTPUT_TYPE_MISMATCH',
        exitCode: 2,
        facts: { column: 'Business', row: 1 },
        hint: expect.stringContaining('nothing is paid again'),
      });
      expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
      const seen = job.service.seen.length;
      expect(await job.enrich(to('parquet'))).toMatchObject({ found: 'continued', exitCode: 0 });
      expect(job.service.seen.length).toBe(seen);
      await expectContent(job, 'parquet');
    });
  });

  it('that do not fit a done run leave no work file behind, and one that a kill has left goes with the next', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich(to('parquet'));
      const partial = () => job.published().then((names) => names.filter((name) => /\.partial/.test(name)));
      expect(await job.failure(to('parquet', { types: { Business: 'date' } }))).toMatchObject({
        code: 'OUTPUT_TYPE_MISMATCH',
      });
      expect(await partial()).toEqual([]);
      await writeFile(`${pathOf(job, 'parquet')}.${run}.partial`, 'x');
      await writeFile(`${pathOf(job, 'parquet')}.${run}.partial.out`, 'x');
      expect(await publish(job.config(to('csv.gz')), run)).toMatchObject({ exitCode: 0 });
      expect(await partial()).toEqual([]);
    });
  });

  it('of columns that the output cannot have are refused before anything is sent', async () => {
    await withJob({ behaviour }, async (job) => {
      const refused = await job.failure(to('parquet', { types: { Confidence: 'double' } }));
      expect(refused).toMatchObject({ code: 'OUTPUT_TYPES_UNKNOWN', exitCode: 2 });
      const declared = {
        ...to('parquet', { types: { prediction_x: 'double' } }),
        result: { columns: ['confidence'] },
      };
      const error = (await job.failure(declared)) as ConfigError;
      expect(error).toMatchObject({ code: 'OUTPUT_TYPES_UNKNOWN', facts: { column: 'prediction_x' } });
      expect(job.service.seen).toEqual([]);
    });
  });

  it('of a column that the service does not add end the run at the first answers', async () => {
    await withJob(
      { behaviour: { ...behaviour, finishedAtPoll: () => 1 }, config: { chunks: { canary: 5 } } },
      async (job) => {
        const unknown = to('parquet', { types: { prediction_x: 'double' } });
        expect(await job.failure(unknown)).toMatchObject({ code: 'OUTPUT_TYPES_UNKNOWN' });
        expect(job.service.folios.length).toBeLessThan(6);
        expect(await job.enrich(to('parquet'))).toMatchObject({ found: 'continued', exitCode: 0 });
      },
    );
  });
});

it('refuses names that differ in capitals alone as Parquet, before anything is sent', async () => {
  const files = { 'source.csv': 'Business,Address,State,state\na,b,c,d\n' };
  await withJob({ files }, async (job) => {
    expect(await job.failure(to('parquet'))).toMatchObject({ code: 'OUTPUT_NAMES_ALIKE', exitCode: 2 });
    expect(job.service.seen).toEqual([]);
    expect(await job.enrich(to('csv.gz'))).toMatchObject({ exitCode: 0 });
  });
});

it.runIf(zstdDecompress === undefined)(
  'refuses .zst on a Node without zstd, before anything is sent',
  async () => {
    await withJob({}, async (job) => {
      expect(await job.failure(to('csv.zst'))).toMatchObject({
        code: 'ZSTD_MISSING',
        exitCode: 2,
        hint: expect.stringContaining('.csv.gz'),
      });
      expect(job.service.seen).toEqual([]);
    });
  },
);

it('a delta beside a compressed output is the CSV that it is beside a plain one', async () => {
  await withJob({ behaviour, config: { source: { key: 'id' } } }, async (job) => {
    await job.enrich({ output: { delta: true } });
    const { delta } = JSON.parse(await readFile(`${job.outputPath}.manifest.json`, 'utf8'));
    const path = pathOf(job, 'csv.gz');
    await job.enrich(to('csv.gz', { delta: true }));
    const manifest = JSON.parse(await readFile(`${path}.manifest.json`, 'utf8'));
    // The second publication of the same rows: nothing has changed, and the base is named by its CSV.
    expect(manifest.delta).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect(manifest.base).toEqual({ publication: 1, sha256: manifest.output.content.sha256 });
    expect(delta.added).toBe(60);
    await readManifest(path);
  });
});

it('a partial publication is compressed too, and its work file is removed', async () => {
  await withJob(
    { behaviour: { ...behaviour, finishedAtPoll: ({ chunk }) => (chunk === 3 ? 1e9 : 1) } },
    async (job) => {
      const summary = await job.enrich(to('csv.gz'), deadlineAt({ 'after-downloaded-before-merge': 5 }));
      expect(summary).toMatchObject({ exitCode: 8, published: true });
      const path = pathOf(job, 'csv.gz');
      const csv = String(await promisify(zlib.gunzip)(await readFile(path)));
      expect(readRaw(csv)).toHaveLength(60);
      expect((await readManifest(path)).output.format).toBe('csv.gz');
      const left = (await job.published()).filter((name) => /deadline|\.out$/.test(name));
      expect(left).toEqual([]);
    },
  );
});

it.each(['after-encoded-before-publishing', 'after-publishing-before-rename'])(
  'a real kill -9 %s leaves a Parquet output that the same command finishes, and no DuckDB process',
  async (armed) => {
    const output = { path: 'out/rows.parquet' };
    await withLocalJob({ names: fineNames(30), config: { output } }, async (job) => {
      await killCliAt(armed, ['run', job.file]);
      const again = await callMain(['run', job.file]);
      expect(again, again.stderr).toMatchObject({ code: 0 });
      const path = join(job.folder, 'out', 'rows.parquet');
      expect(await readParquet(path)).toHaveLength(30);
      await readManifest(path);
      expect((await readdir(join(job.folder, 'out'))).sort()).toEqual(
        ['', '._REHEARSAL', '.manifest.json'].map((end) => `rows.parquet${end}`),
      );
      expect([...(await job.timesPaid()).values()].every((times) => times === 1)).toBe(true);
    });
  },
);
