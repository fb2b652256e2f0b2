/** The stages beside the fastest programs of the same work, which are built by anchors/build.js. */
import { createWriteStream, existsSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { alternate } from '../alternate.js';
import { beginRun, onlyRun } from '../begin-run.js';
import { CHUNK_RECORDS } from '../job.js';
import { program } from '../lab.js';
import { measureCommand, measureNode } from '../measure.js';
import { finishedRun } from '../measure-client.js';
import { replyPieces } from '../reply.js';
import { shareOf } from '../rows.js';
import { checkSame } from '../same-files.js';
import { stageProgram } from '../stage-programs.js';

const REPLY_BYTES = 1e9;

export const anchors = {
  title: 'Beside the fastest programs',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const source = await lab.source(records);
    const rows = [];
    const missing = [];
    for (const [anchor, compare] of [
      [built('split'), chunking],
      [zsv(), checking],
      [built('join'), merging],
      [built('decode'), decoding],
    ]) {
      if (existsSync(anchor)) rows.push(...(await compare(lab, source)));
      else missing.push(basename(anchor));
    }
    if (missing.length > 0) {
      console.error(`SKIPPED: ${missing.join(', ')} is not there; see bench/anchors/build.js`);
    }
    return {
      notes: [
        `${records} records, whole processes with their start; \`node bench/anchors/build.js\` builds the others.`,
        'Chunking: the Rust csv crate writes the same files. The check: `zsv count` counts rows and `openssl` hashes, one after the other.',
        'Merging, from the same gzipped parts: the Rust csv crate joins in memory, without a proof, a commit or a sync; DuckDB joins and sorts on one thread and on two.',
        `Decoding: a reply with ${REPLY_BYTES / 1e6} MB of CSV in a file; both read pieces of 64 KiB, simdutf searches the string, ours reads its JSON.`,
        ...(missing.length > 0 ? [`Not there and not measured: ${missing.join(', ')}.`] : []),
      ],
      rows,
    };
  },
};

async function chunking(lab, source) {
  let work;
  const folder = lab.emptyFolder('chunks-rust');
  const { ours, peer } = await alternate(
    lab.pairs,
    {
      ours: async () => {
        work = lab.emptyFolder('chunks-ours');
        return measureNode([stageProgram('chunk'), await beginRun(work, source)]);
      },
      peer: () => measureCommand(built('split'), [source, folder, `${CHUNK_RECORDS}`]),
    },
    () => checkSame(`${onlyRun(work)}/chunk-000002.csv`, `${folder}/chunk-000002.csv`),
  );
  return [inCpu({ what: 'chunking', beside: 'Rust csv', ours, peer, atMost: 0.9 })];
}

async function checking(lab, source) {
  const { ours, peer } = await alternate(lab.pairs, {
    ours: () => measureNode([stageProgram('scan'), source]),
    peer: async () => {
      const counted = await measureCommand(zsv(), ['count', source]);
      const hashed = await measureCommand('openssl', ['sha256', source]);
      return { cpuSeconds: counted.cpuSeconds + hashed.cpuSeconds };
    },
  });
  return [inCpu({ what: 'the check', beside: 'zsv and openssl', ours, peer, atMost: 1.2 })];
}

async function merging(lab, source) {
  const { config, folder, published } = await finishedRun(lab, source);
  const output = lab.path('merged-ours.csv');
  const byRust = lab.path('merged-rust.csv');
  const byDuckDb = lab.path('merged-duckdb.csv');
  const inDuckDb = (threads) =>
    measureNode([program('peers/merge-duckdb.js'), source, folder, byDuckDb, `${threads}`]);
  const { ours, rust, one, two } = await alternate(
    lab.pairs,
    {
      ours: () => measureNode([stageProgram('merge'), config, basename(folder), output]),
      rust: () => measureCommand(built('join'), [source, folder, byRust, `${CHUNK_RECORDS}`]),
      one: () => inDuckDb(1),
      two: () => inDuckDb(2),
    },
    () => checkSame(published, output, byRust, byDuckDb),
  );
  return [
    inCpu({ what: 'merging', beside: 'DuckDB, 1 thread', ours, peer: one, atMost: 0.3 }),
    inCpu({ what: 'merging', beside: 'DuckDB, 2 threads', ours, peer: two, atMost: 0.3 }),
    inCpu({ what: 'merging', beside: 'Rust csv', ours, peer: rust, atMost: 1 }),
  ];
}

async function decoding(lab) {
  const reply = lab.path('large-reply.json');
  await pipeline(Readable.from(replyPieces(REPLY_BYTES)), createWriteStream(reply));
  const { ours, peer } = await alternate(lab.pairs, {
    ours: () => measureNode([stageProgram('decode'), reply]),
    peer: () => measureCommand(built('decode'), [reply]),
  });
  return [inCpu({ what: 'base64 and JSON of 1 GB', beside: 'simdutf', ours, peer, atMost: 2.5 })];
}

function inCpu(compared) {
  return shareOf({ ...compared, figure: 'cpuSeconds' });
}

/** The command zsv, which is installed; ZSV may name it. */
function zsv() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'zsv')).find((path) => existsSync(path));
  return process.env.ZSV ?? found ?? 'zsv';
}

function built(name) {
  return program(`anchors/built/${name}`);
}
