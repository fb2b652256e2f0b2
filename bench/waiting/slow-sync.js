/** A disk that takes 20 ms to sync a file, beside one that takes no time. Needs Linux and a C compiler (`cc`). */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureClient } from '../measure-client.js';
import { shareOf, within } from '../rows.js';
import { cli } from '../service.js';

const SYNC_MS = 20;
const CHUNK_RECORDS = 1000;

/** The rows, and a note on them. */
export async function slowSync(lab) {
  const library = lab.path('slow-sync.so');
  const why = compile(library);
  if (why !== undefined) return { notes: `**Not measured: a disk that syncs slowly** (${why}).`, rows: [] };
  const records = Math.round(lab.recordsOr(500_000) / 5);
  const source = await lab.source(records);
  const config = { chunks: { maxRecords: CHUNK_RECORDS } };
  const figures = lab.path('syncs.json');
  const syncsIn = (ms) => async () => {
    const env = { LD_PRELOAD: library, FOLIOPIPE_BENCH_SYNC_MS: `${ms}`, FOLIOPIPE_BENCH_SYNCS: figures };
    const measured = await measureClient(lab.emptyFolder('slow-sync'), source, cli, { config, env });
    return { ...measured, ...JSON.parse(readFileSync(figures, 'utf8')) };
  };
  const { none, slow } = await alternate(lab.pairs, { none: syncsIn(0), slow: syncsIn(SYNC_MS) });
  const chunks = records / CHUNK_RECORDS;
  const compared = { what: `syncs of ${SYNC_MS} ms`, beside: 'syncs of 0 ms', ours: slow, peer: none };
  const blocking = slow.map(({ blockingSyncs }) => blockingSyncs / chunks);
  return {
    notes: `Each fsync and fdatasync of the client takes ${SYNC_MS} ms, beside none (a library that is preloaded replaces both): ${records} records in chunks of ${CHUNK_RECORDS}; and how many of them block the process, including those of its start.`,
    rows: [
      shareOf({ ...compared, figure: 'wallSeconds', atMost: 2 }),
      within({ what: 'syncs that block the process, a chunk', values: blocking, unit: '' }),
    ],
  };
}

/** @returns why it cannot be compiled. */
function compile(library) {
  if (platform() !== 'linux') return 'only Linux preloads it';
  const args = ['-shared', '-fPIC', '-O1', '-o', library, program('waiting/slow-sync.c')];
  const { error, status, stderr } = spawnSync('cc', args, { encoding: 'utf8' });
  if (error !== undefined) return `no C compiler: ${error.message}`;
  return status === 0 ? undefined : stderr;
}
