/** A billion records in 100,000 folios, with the real checkpoint on a real disk: does anything grow with them? */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openSqliteCheckpoint } from '../../dist/src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { timeText } from './judge.js';
import { runId, simulate } from './simulate.js';

const minute = 60_000;
const CHUNKS = 100_000;
const RECORDS = 10_000;
const TENTHS = 10;

const scenario = {
  chunks: CHUNKS,
  concurrency: { uploads: 4, folios: 64, downloads: 4 },
  poll: { first: 1000, max: 60 * minute, timeout: 1440 * minute },
  requestsPerSecond: 10,
  model: {
    processing: minute,
    upload: 1000,
    download: 1000,
    reply: 50,
    percentage: 'honest',
    records: RECORDS,
  },
};

/**
 * @param parent folder for the state; one in memory leaves the disk's syncs out of the times.
 * @param chunks fewer of them, to try it.
 * @returns rows of a figure and its value.
 */
export async function simulateBillion(parent, chunks = CHUNKS) {
  const folder = await mkdtemp(join(parent, 'foliopipe-billion-'));
  const checkpoint = await openSqliteCheckpoint(folder);
  try {
    await checkpoint.recordRun(newRun());
    const tenths = [performance.now()];
    const heaps = [];
    const counting = {
      ...checkpoint,
      recordDownloaded: async (run, number) => {
        await checkpoint.recordDownloaded(run, number);
        if (number % (chunks / TENTHS) !== 0) return;
        tenths.push(performance.now());
        heaps.push(heapInUse());
      },
    };
    const result = await simulate({ ...scenario, chunks }, counting);
    const real = tenths.at(-1) - tenths[0];
    const reads = await timeReads(checkpoint, chunks);
    await checkpoint.close();
    const { size } = await stat(join(folder, 'checkpoint.db'));
    return [
      ['records, folios', `${(chunks * RECORDS).toLocaleString('en')}, ${chunks.toLocaleString('en')}`],
      [
        'simulated',
        `${timeText(result.makespan)}, ${(result.makespan / result.bound.time).toFixed(4)} of the bound`,
      ],
      ['FINISHED to noticed', `${(100 * result.notice).toFixed(2)} % of a folio's time`],
      ['polls a folio', result.polls.toFixed(2)],
      ['requests a second', ((1000 * result.requests) / result.makespan).toFixed(2)],
      ['chunk files on the disk at once', result.filesAtMost],
      ['really took', timeText(real)],
      ['a chunk of the first tenth', perChunk(tenths[1] - tenths[0], chunks)],
      ['a chunk of the last tenth', perChunk(tenths[TENTHS] - tenths[TENTHS - 1], chunks)],
      ['checkpoint.db', `${megabytes(size)}, ${(size / chunks).toFixed(0)} bytes a folio`],
      ...reads,
      ['heap in use after the first tenth, after all', `${megabytes(heaps[0])}, ${megabytes(heaps.at(-1))}`],
      ['peak RSS, the model included', megabytes(process.resourceUsage().maxRSS * 1024)],
    ];
  } finally {
    await checkpoint.close().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

async function timeReads(checkpoint, chunks) {
  const middle = (chunks / 2) * RECORDS;
  const reads = {
    tally: () => checkpoint.tally(runId),
    'nextChunk, from the middle': () => checkpoint.nextChunk(runId, 0, middle),
    'chunksIn, 500 downloaded from the middle': () =>
      checkpoint.chunksIn(runId, ['downloaded'], chunks / 2, 500),
    'chunksIn, none of that state': () => checkpoint.chunksIn(runId, ['ambiguous'], 0, 500),
  };
  const rows = [];
  for (const [name, read] of Object.entries(reads)) {
    const times = [];
    for (let i = 0; i < 5; i++) {
      const began = performance.now();
      await read();
      times.push(performance.now() - began);
    }
    rows.push([name, `${times.sort((a, b) => a - b)[2].toFixed(2)} ms`]);
  }
  return rows;
}

/** Bytes after a collection. */
function heapInUse() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function perChunk(time, chunks) {
  return `${((1000 * time) / (chunks / TENTHS)).toFixed(0)} µs`;
}

function newRun() {
  const source = { files: [], columns: ['name'], records: CHUNKS * RECORDS, rejected: 0, sha256: '0' };
  const names = { pipeline: 'schedule', service: 'https://service.test', label: null };
  return { id: runId, ...names, source, frozen: {}, canary: 0, createdAt: 0 };
}
