/** A job against the local service, in this process, with fault rules: source, config and results. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import {
  type ChunkRow,
  type Config,
  type ConfigInput,
  enrich,
  openCheckpointReader,
  parseConfig,
  type Run,
  type RunOptions,
  type RunSummary,
  type Tally,
} from '../../../pipelines/index.js';
import { parseFaults } from '../../../src/service/faults/read-faults.js';
import { openService } from '../../../src/service/open-service.js';
import { createHashPredictor } from '../../../src/service/predictors/hash-predictor.js';
import { ALL_STATES } from '../checkpoint/walk-target.js';
import { withFolder } from '../folders/folders.js';
import { serviceOptions, TOKEN } from '../service/client.js';
import { type ServedFolio, servedFolios } from '../service/serve.js';
import { quickSections, type Sections, withSections } from './job-sections.js';

export interface LocalJobSetup {
  /** Fault rules, see docs/faults.md. */
  readonly rules?: readonly object[];
  /** Names of the businesses, one record each. */
  readonly names: readonly string[];
  readonly config?: Sections | undefined;
}

export interface LocalJob {
  readonly folder: string;
  /** The config file, for the command line. */
  readonly file: string;
  readonly source: string;
  readonly output: string;
  config(changes?: LocalJobSetup['config']): Config;
  enrich(changes?: LocalJobSetup['config'], options?: RunOptions): Promise<RunSummary>;
  /** The error that the job ends with. */
  failure(changes?: LocalJobSetup['config'], options?: RunOptions): Promise<unknown>;
  /** Closes the service and opens it again on the same folder and port, with other rules. */
  restartService(rules: readonly object[]): Promise<void>;
  rows(): Promise<Record<string, string>[]>;
  /** The latest run in the checkpoint. */
  kept(): Promise<{ readonly run: Run; readonly tally: Tally; readonly chunks: readonly ChunkRow[] }>;
  /** Every accepted upload, oldest first. */
  served(): Promise<readonly ServedFolio[]>;
  /** How many accepted uploads held each record. */
  timesPaid(): Promise<ReadonlyMap<number, number>>;
}

/** Runs `use` with a new service and a new folder; closes and removes them afterwards. */
export async function withLocalJob(
  setup: LocalJobSetup,
  use: (job: LocalJob) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const dataDir = join(folder, 'service');
    const open = (port: number) =>
      openService(serviceOptions(dataDir, { port, faults: parseFaults({ seed: 7, rules: [...rules] }) }));
    let rules = setup.rules ?? [];
    let service = await open(0);
    const restart = async (between: () => void) => {
      await service.close();
      between();
      service = await open(Number(new URL(service.baseUrl).port));
    };
    try {
      await writeFile(join(folder, 'source.csv'), sourceOf(setup.names));
      await writeFile(join(folder, 'job.yaml'), JSON.stringify(sectionsOf(service.baseUrl, setup.config)));
      const job = createJob(folder, service.baseUrl, setup.config);
      const served = async () => {
        let folios: ServedFolio[] = [];
        await restart(() => {
          folios = servedFolios(dataDir);
        });
        return folios;
      };
      await use({
        ...job,
        served,
        timesPaid: async () => timesPaid((await job.kept()).chunks, await served()),
        restartService: (others) =>
          restart(() => {
            rules = others;
          }),
      });
    } finally {
      await service.close();
    }
  });
}

function sectionsOf(url: string, ...changes: readonly LocalJobSetup['config'][]): Record<string, unknown> {
  const sections = {
    ...quickSections,
    upload: { columns: { name: 'Name', address: 'Address' } },
    service: { baseUrl: url, token: TOKEN, requestsPerSecond: 10_000 },
  };
  return { pipeline: 'nightly', ...withSections(sections, ...changes), stateDir: 'state' };
}

function createJob(
  folder: string,
  url: string,
  base: LocalJobSetup['config'],
): Omit<LocalJob, 'restartService' | 'served' | 'timesPaid'> {
  const output = join(folder, 'out', 'enriched.csv');
  const config = (changes?: LocalJobSetup['config']) =>
    parseConfig(sectionsOf(url, base, changes) as ConfigInput, folder);
  const kept: LocalJob['kept'] = async () => {
    const reader = (await openCheckpointReader(config().stateDir))!;
    try {
      const run = (await reader.latestRun('nightly'))!;
      const chunks = await reader.chunksIn(run.id, ALL_STATES, 0, Number.MAX_SAFE_INTEGER);
      return { run, tally: await reader.tally(run.id), chunks };
    } finally {
      await reader.close();
    }
  };
  return {
    folder,
    file: join(folder, 'job.yaml'),
    source: join(folder, 'source.csv'),
    output,
    config,
    enrich: (changes, options) => enrich(config(changes), options),
    failure: (changes, options) =>
      enrich(config(changes), options).then(
        () => undefined,
        (error: unknown) => error,
      ),
    rows: async () => parse(await readFile(output), { columns: true }),
    kept,
  };
}

function timesPaid(chunks: readonly ChunkRow[], served: readonly ServedFolio[]): Map<number, number> {
  const times = new Map<number, number>();
  for (const { fileName } of served) {
    const number = Number(/-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(fileName)![1]);
    const { firstRecord, lastRecord } = chunks.find((chunk) => chunk.number === number)!;
    for (let record = firstRecord; record <= lastRecord; record++) {
      times.set(record, (times.get(record) ?? 0) + 1);
    }
  }
  return times;
}

/** One record for each name; every address differs. */
export function sourceOf(names: readonly string[]): string {
  return `Name,Address,Note\n${names.map((name, at) => `"${name}",${at + 1} Main St,note ${at + 1}\n`).join('')}`;
}

/** `Fine 1`, `Fine 2`, ...: the service fails none of them. */
export function fineNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => fineName(at + 1));
}

function fineName(number: number): string {
  let name = `Fine ${number}`;
  while (predictedCode(name) === undefined) name += '!';
  return name;
}

const predictor = createHashPredictor();

/** A name that the service fails. */
export function failingName(number: number): string {
  let name = `Poor ${number}`;
  while (predictedCode(name) !== undefined) name += '?';
  return name;
}

/** The code that the service predicts for a name; undefined if it fails the record. */
export function predictedCode(name: string): string | undefined {
  const prediction = predictor.predict(name, '', '');
  return 'code' in prediction ? prediction.code : undefined;
}
