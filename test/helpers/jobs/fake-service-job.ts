/** A job against the fake service, in this process: source, config, output, and what is expected of them. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import {
  type Config,
  type ConfigInput,
  enrich,
  parseConfig,
  type RunOptions,
  type RunSummary,
  UntrustedError,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type FakeService, openFakeService } from '../../fake-service/fake-service.js';
import { withFolder } from '../folders/folders.js';
import { quickSections } from './job-sections.js';
import { readManifest } from './read-manifest.js';
import { type Enrichment, predictedEnrichment, readRaw, sourceText } from './sample-source.js';

/** Sections of the config; their keys replace the default ones. */
export type Changes = Readonly<Record<string, unknown>>;

export interface JobSetup {
  readonly behaviour?: Behaviour;
  /** Content by file name; by default `source.csv` with 60 records. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly config?: Changes;
}

export interface Job {
  readonly folder: string;
  readonly service: FakeService;
  readonly sourcePath: string;
  readonly outputPath: string;
  config(changes?: Changes): Config;
  /** Writes the config into a file, for the command line. @returns its path. */
  writeConfig(): Promise<string>;
  enrich(changes?: Changes, options?: RunOptions): Promise<RunSummary>;
  /** The error that the job ends with. */
  failure(changes?: Changes, options?: RunOptions): Promise<unknown>;
  output(): Promise<string>;
  manifest(): Promise<Manifest>;
  /** Names of the output and of all files beside it. */
  published(): Promise<string[]>;
}

interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly publication: number;
  readonly status: string;
  readonly exitCode: number;
  readonly complete: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly uploads: Readonly<Record<string, number>>;
  readonly columns: readonly string[];
  readonly schema: readonly { readonly name: string; readonly type: string; readonly from: string }[];
  readonly times: { readonly began: string; readonly published: string };
  readonly output: Content & {
    readonly path: string;
    readonly format: string;
    readonly records: number;
    readonly content: Content;
  };
  readonly chunks: readonly Readonly<Record<string, unknown>>[];
}

/** Runs `use` with a new service and a new folder; closes and removes them afterwards. */
export async function withJob(setup: JobSetup, use: (job: Job) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const service = await openFakeService(setup.behaviour);
    try {
      await mkdir(path.join(folder, 'out'));
      for (const [name, content] of Object.entries(setup.files ?? { 'source.csv': sourceText(60) })) {
        await writeFile(path.join(folder, name), content);
      }
      await use(createJob(folder, service, setup.config ?? {}));
    } finally {
      await service.close();
    }
  });
}

function createJob(folder: string, service: FakeService, base: Changes): Job {
  const outputPath = path.join(folder, 'out', 'enriched.csv');
  const own = merge(standard(service), base);
  const config = (changes: Changes = {}) => parseConfig(merge(own, changes) as ConfigInput, folder);
  return {
    folder,
    service,
    sourcePath: path.join(folder, 'source.csv'),
    outputPath,
    config,
    writeConfig: async () => {
      const file = path.join(folder, 'job.yaml');
      // JSON is valid YAML.
      await writeFile(file, JSON.stringify(own));
      return file;
    },
    enrich: (changes, options) => enrich(config(changes), options),
    failure: (changes, options) =>
      enrich(config(changes), options).then(
        () => undefined,
        (error: unknown) => error,
      ),
    output: () => readFile(outputPath, 'utf8'),
    manifest: () => readManifest(outputPath),
    published: async () => (await readdir(path.join(folder, 'out'))).sort(),
  };
}

function standard(service: FakeService): Changes {
  return {
    pipeline: 'hostile',
    ...quickSections,
    upload: { columns: { name: 'Business', address: 'Address', state: 'State' } },
    service: { baseUrl: service.url, token: service.token, requestsPerSecond: 10_000 },
    chunks: { maxRecords: 10, maxBytes: '64KB' },
    poll: { ...quickSections.poll, timeout: '1m' },
  };
}

function merge(base: Changes, over: Changes): Changes {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isSection(below) && isSection(value) ? merge(below, value) : value;
  }
  return merged;
}

function isSection(value: unknown): value is Changes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Compares the whole output with its source: every record in order, with its own bytes and its enrichment.
 * @param expected the enrichment of a record; its number counts from 1.
 */
export async function expectEnriched(
  job: Job,
  expected: (row: Readonly<Record<string, string>>, number: number) => Enrichment = predictedEnrichment,
): Promise<void> {
  const source = readRaw(await readFile(job.sourcePath, 'utf8'));
  const output = readRaw(await job.output());
  expect(output.length).toBe(source.length);
  for (const [at, { record, raw }] of source.entries()) {
    const { status, code, error, added } = expected(record, at + 1);
    const found = output[at]!;
    expect(found.raw.slice(0, raw.length + 1), `record ${at + 1}`).toBe(`${raw},`);
    expect(predictionOf(found.record), `record ${at + 1}`).toEqual({
      ...Object.fromEntries(Object.keys(predictionOf(found.record)).map((column) => [column, ''])),
      ...Object.fromEntries(Object.entries(added).map(([name, value]) => [`prediction_${name}`, value])),
      prediction_status: status,
      prediction_error_code: code,
      prediction_error: error,
    });
  }
}

/** The columns that the run added. */
function predictionOf(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([column]) => column.startsWith('prediction_')));
}

/** Expects a successful run: exit code 0, the success marker, and a manifest whose counts balance. */
export async function expectSuccess(job: Job, summary: RunSummary, failed: number): Promise<void> {
  const read = summary.counts.read;
  expect(summary).toMatchObject({ state: 'done', exitCode: 0, rehearsal: false });
  const counts = { read, successful: read - failed, failed, unprocessed: 0, rejected: 0 };
  expect(summary.counts).toEqual(counts);
  const manifest = await job.manifest();
  expect(manifest).toMatchObject({ status: 'SUCCESS', exitCode: 0, complete: true, counts });
  expect(manifest.chunks.map(({ chunk }) => chunk)).toEqual(manifest.chunks.map((_, at) => at + 1));
  expect(await job.published()).toEqual([
    'enriched.csv',
    'enriched.csv._SUCCESS',
    'enriched.csv.manifest.json',
  ]);
}

/** Expects that each of the six chunks of the sample source was accepted once. */
export function expectPaidOnce(job: Job): void {
  expect([...job.service.acceptedByChunk().values()]).toEqual([1, 1, 1, 1, 1, 1]);
}

/** Expects exit 6 because answers cannot be trusted, and no file that a loader could take for an output. */
export async function expectUntrusted(job: Job, code: string, changes?: Changes): Promise<UntrustedError> {
  const error = await job.failure(changes);
  expect(error).toBeInstanceOf(UntrustedError);
  const untrusted = error as UntrustedError;
  expect(untrusted).toMatchObject({ exitCode: 6, code });
  expect(untrusted.hint).toBeTruthy();
  expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
  return untrusted;
}

/** The folio of a chunk; the first one if it has several. */
export function folioOf(job: Job, chunk: number): string {
  return job.service.folios.find((folio) => folio.chunk === chunk)!.id;
}

/** How many of the first `records` of the sample source fail. */
export function failingAmong(records: number): number {
  return readRaw(sourceText(records)).filter(({ record }) => predictedEnrichment(record).status === 'FAILED')
    .length;
}
