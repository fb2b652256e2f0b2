/** One night on the virtual clock: the real stages between modelled chunks and a modelled service. */
import { Readable } from 'node:stream';
import {
  downloadParts,
  drain,
  parseConfig,
  runStages,
  submitChunks,
  trackFolios,
} from '../../dist/src/index.js';
import { createPermits } from '../../dist/src/streams/permits.js';
import { lowerBound } from './lower-bound.js';
import { createMemoryCheckpoint } from './memory-checkpoint.js';
import { createRateLimiter } from './rate-limiter.js';
import { createModelledService } from './service.js';
import { createVirtualClock } from './virtual-clock.js';
import { createWork } from './work.js';

/**
 * @param scenario `chunks`; `concurrency`, `poll` and `requestsPerSecond` as the config has them; and `model`.
 * @param checkpoint has the run `runId` where it asks for one.
 * @param shared `clock`, `limiter` and `permits` of an account that other pipelines use too; there is no bound then.
 * @returns times in ms; `notice` is the mean time from FINISHED until it is committed, as a share of a folio's time
 *   from its upload to FINISHED; `polls` is the mean of a folio after the first window of `folios`.
 */
export async function simulate(scenario, checkpoint = createMemoryCheckpoint(), shared = undefined) {
  const { chunks, concurrency, poll, requestsPerSecond, model } = scenario;
  const config = configOf(scenario);
  const clock = shared?.clock ?? createVirtualClock();
  const work = createWork(model);
  const limiter = shared?.limiter ?? createRateLimiter(clock, requestsPerSecond);
  const api = createModelledService({ clock, limiter, work, model });
  const controller = new AbortController();
  const files = createModelledFiles();
  const run = {
    id: runId,
    config: { ...config, concurrency, poll: { ...config.poll, ...poll } },
    source: undefined,
    canary: 0,
    keepsChunks: false,
    progress: { emit: () => undefined, percentages: new Map() },
    checkpoint: noticing(checkpoint, api.folios, clock),
    lock: {},
    files,
    api,
    folioPermits: shared?.permits ?? createPermits(concurrency.folios, clock.now),
    controller,
    deferred: { error: undefined },
    // The results are never looked at.
    join: { method: { judged: { isProven: true } }, judged: new Set(), judging: Promise.resolve(undefined) },
    uploads: { stopped: false, inFlight: new Set() },
    signal: controller.signal,
    clock,
    logger: silent,
    at: () => undefined,
  };
  await runStages(
    controller,
    () => cutChunks(run, chunks, model.records),
    submitChunks(run),
    trackFolios(run),
    downloadParts(run),
    drain,
  );
  if (run.deferred.error !== undefined) throw run.deferred.error;
  const noticed = api.folios.filter(({ noticedAt }) => noticedAt !== null).length;
  if (noticed !== chunks) throw new Error(`${noticed} of ${chunks} folios were noticed`);
  const requests = api.requests();
  if (shared !== undefined) return { requests, uploadWaits: api.uploadWaits };
  const bound = lowerBound({ chunks, model, work, concurrency, requestsPerSecond });
  if (clock.now() < bound.time - 1) throw new Error('quicker than the lower bound: the model is wrong');
  return {
    makespan: clock.now(),
    bound,
    notice: meanOf(api.folios, ({ noticedAt, acceptedAt, end }) => (noticedAt - end) / (end - acceptedAt)),
    polls: meanOf(api.folios.slice(concurrency.folios), (folio) => folio.polls),
    firstPolls: meanOf(api.folios.slice(0, concurrency.folios), (folio) => folio.polls),
    uploadWait: meanOf(api.uploadWaits, (wait) => wait),
    requests,
    filesAtMost: files.atMost(),
  };
}

export const runId = 'simulated';

function configOf({ concurrency, model, requestsPerSecond }) {
  return parseConfig(
    {
      pipeline: 'schedule',
      source: { path: 'source.csv' },
      upload: { columns: { name: 'name' } },
      service: { baseUrl: 'https://service.test', token: 'none', requestsPerSecond },
      chunks: { maxRecords: model.records },
      concurrency,
      output: { path: 'out.csv' },
    },
    '/',
  );
}

async function* cutChunks({ id, checkpoint, files }, chunks, records) {
  for (let number = 1; number <= chunks; number++) {
    const firstRecord = (number - 1) * records + 1;
    const chunk = await checkpoint.recordCut(id, {
      firstRecord,
      lastRecord: firstRecord + records - 1,
      records,
      start: { file: 0, offset: firstRecord * 100 },
      end: { file: 0, offset: (firstRecord + records) * 100 },
      bytes: records * 80,
      sha256: number.toString(16).padStart(64, '0'),
      picked: null,
    });
    await files.writeChunk(chunk.number);
    yield chunk;
  }
}

/** The same checkpoint, which also notes when each FINISHED is committed. */
function noticing(checkpoint, folios, clock) {
  return {
    ...checkpoint,
    recordFinished: async (run, number, ...finished) => {
      const chunk = await checkpoint.recordFinished(run, number, ...finished);
      folios[Number(chunk.folio)].noticedAt = clock.now();
      return chunk;
    },
  };
}

/** Files that are only counted. The bytes of parts are not kept. */
function createModelledFiles() {
  const kept = new Set();
  let atMost = 0;
  return {
    atMost: () => atMost,
    writeChunk: async (number) => {
      kept.add(number);
      atMost = Math.max(atMost, kept.size);
    },
    hasChunk: async (number) => kept.has(number),
    chunkContent: async () => ({ bytes: 0, open: () => Readable.from([]) }),
    removeChunk: async (number) => void kept.delete(number),
    syncParts: async () => undefined,
    writePart: async (_chunk, _part, content) => {
      let bytes = 0;
      for await (const piece of content) bytes += piece.length;
      return { bytes, sha256: '0'.repeat(64) };
    },
  };
}

function meanOf(items, figure) {
  if (items.length === 0) return null;
  return items.reduce((sum, item) => sum + figure(item), 0) / items.length;
}

const nothing = () => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
