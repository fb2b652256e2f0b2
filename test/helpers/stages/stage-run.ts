/** A run for tests of single stages: real source and files, checkpoint in memory, fake service, virtual clock. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { frozenConfig } from '../../../src/config/frozen-config.js';
import { parseConfig } from '../../../src/config/load-config.js';
import type { Config } from '../../../src/config/schema.js';
import { createLocalDeltaStore } from '../../../src/delta/local-delta-store.js';
import type { Failpoint } from '../../../src/failpoints.js';
import { createLocalOutputStore } from '../../../src/files/local-output-store.js';
import { createLocalFiles } from '../../../src/files/local-run-files.js';
import type { FileStore } from '../../../src/files/run-files.js';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import type { RunContext } from '../../../src/run-context.js';
import { scanSource } from '../../../src/source/scan-source.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts } from '../../../src/stages/download/download-parts.js';
import { refetchParts } from '../../../src/stages/download/refetch-parts.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import { createPermits } from '../../../src/streams/permits.js';
import { createFakeApi, type FakeApi } from '../../fake-service/fake-api.js';
import { throwAt } from '../jobs/throw-at.js';
import { createMemoryCheckpoint } from '../memory/memory-checkpoint.js';
import { collect } from '../streams/collect.js';
import { createVirtualClock, type VirtualClock } from '../streams/virtual-clock.js';

export interface StageRun extends RunContext {
  readonly fileStore: FileStore;
  prepareOutput(): Promise<void>;
  readonly api: FakeApi;
  readonly clock: VirtualClock;
  /** All log lines as `level message`. */
  readonly log: readonly string[];
}

export interface StageRunOptions {
  /** Content of the source; by default `numberedSource(records)`. */
  readonly source?: string;
  readonly records?: number;
  /** Sections of the config; they replace the default ones. */
  readonly config?: Record<string, unknown>;
  readonly api?: FakeApi;
  /** Records of the canary; 0. */
  readonly canary?: number;
  /** By default one whose changes take time. */
  readonly checkpoint?: Checkpoint;
}

export function numberedSource(records: number): string {
  const lines = Array.from({ length: records }, (_, i) => `n${i + 1},${i + 1} Main St\n`);
  return `name,address\n${lines.join('')}`;
}

export async function createStageRun(folder: string, options: StageRunOptions = {}): Promise<StageRun> {
  const path = join(folder, 'source.csv');
  await writeFile(path, options.source ?? numberedSource(options.records ?? 6));
  const config: Config = parseConfig(
    {
      pipeline: 'nightly',
      source: { path },
      upload: { columns: { name: 'name' }, keyColumn: 'id' },
      service: { baseUrl: 'https://service.test', token: 't0ken' },
      chunks: { maxRecords: 2 },
      output: { path: join(folder, 'out.csv') },
      stateDir: join(folder, 'state'),
      ...options.config,
    },
    folder,
  );
  const controller = new AbortController();
  const source = await scanSource({
    ...config.source,
    paths: [path],
    maxRecordBytes: 1_000_000,
    signal: controller.signal,
  });
  const checkpoint = options.checkpoint ?? createMemoryCheckpoint({ takesTime: true });
  const clock = createVirtualClock();
  const service = 'https://service.test';
  const id = '20261121T031002-4f9c1a';
  const frozen = frozenConfig(config, service);
  const { pipeline } = config;
  const canary = options.canary ?? 0;
  const createdAt = clock.now();
  await checkpoint.recordRun({
    id,
    pipeline,
    service,
    label: null,
    source,
    frozen,
    canary,
    choice: null,
    createdAt,
  });
  const fileStore = createLocalFiles(config.stateDir);
  const log: string[] = [];
  const write = (level: string) => (_: object, message: string) => void log.push(`${level} ${message}`);
  return {
    id,
    config,
    source,
    canary,
    chosen: null,
    keepsChunks: false,
    toSend: source.records - source.rejected,
    answers: createLocalAnswerStore(`${config.stateDir}/reuse`),
    checkpoint,
    lock: {},
    files: await fileStore.ofRun(id),
    fileStore,
    prepareOutput: async () => undefined,
    output: createLocalOutputStore(),
    deltas: createLocalDeltaStore(config.stateDir),
    api: options.api ?? createFakeApi(),
    refetch: undefined,
    loadTarget: null,
    folioPermits: createPermits(config.concurrency.folios),
    controller,
    deferred: { error: undefined },
    join: { method: null, judged: new Set(), lacking: new Set(), judging: Promise.resolve(undefined) },
    given: { rows: undefined, isTaking: false, isClosed: false },
    work: { written: undefined },
    uploads: { stopped: false, inFlight: new Set(), unrecorded: [] },
    signal: controller.signal,
    progress: { emit: () => undefined, percentages: new Map() },
    clock,
    logger: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    at: () => undefined,
    log,
  };
}

/** The same run in a new process, which is killed at the nth passing of a point. Without one it is not killed. */
export function inNewProcess(run: StageRun, point?: Failpoint, nth?: number): StageRun {
  // The next process has its own controller, which is not aborted, and does not know the work file's hash.
  const controller = new AbortController();
  const at = point === undefined ? () => undefined : throwAt(point, nth);
  return { ...run, controller, signal: controller.signal, work: { written: undefined }, at };
}

/** The same run, which fetches the parts of its chunks again where they are damaged, as a real one does. */
export function refetching(run: StageRun): StageRun {
  return { ...run, refetch: (chunk) => refetchParts(run, chunk) };
}

/** Submits, tracks and downloads every chunk. */
export async function downloadAll(run: StageRun): Promise<void> {
  await collect(downloadParts(run)(trackFolios(run)(submitChunks(run)(chunkRecords(run)()))));
}

export async function* nothing(): AsyncGenerator<never> {}
