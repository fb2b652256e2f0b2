/** One row of the matrix: a job is stopped at one failpoint in one way, then continued, and checked. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chunks } from './expected.js';
import { foliopipe, query } from './processes.js';
import { fillDisk, mountSmallDisk } from './small-disk.js';

/** Makes a failpoint fill the disk. */
const preload = new URL('fill-disk-on-kill.js', import.meta.url);
const run = ['run', '--json', '--log-level', 'warn'];
/** Polls so rarely that no folio is found finished. */
const submit = ['submit', '--log-level', 'warn', '--set', 'poll.first=10s', '--set', 'poll.max=10s'];

/** Writes source and config of a job; a folder's name is its pipeline's. */
export function writeJob(folder, { pipeline, source, service, uploads = 1, rounds = 0 }) {
  writeFileSync(join(folder, 'source.csv'), source);
  const config = {
    pipeline,
    source: { path: 'source.csv' },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: service.settings,
    chunks: { maxRecords: 10 },
    concurrency: { uploads, folios: chunks + 2, downloads: 1 },
    poll: { first: '300ms', max: '300ms' },
    retry: { first: '20ms', max: '100ms' },
    failures: { tolerate: '100%', rounds },
    output: { path: 'out/enriched.csv' },
    stateDir: 'state',
  };
  writeFileSync(join(folder, 'foliopipe.yaml'), JSON.stringify(config));
}

/** The bytes of the output that every struck job must publish. */
export async function unbrokenOutput(folder, job) {
  mkdirSync(folder);
  writeJob(folder, { pipeline: 'unbroken', ...job });
  const { end, stderr } = await foliopipe(folder, run);
  demand(end === 0, `the unbroken run ended with ${end}: ${stderr}`);
  return readFileSync(join(folder, 'out/enriched.csv'));
}

/**
 * @param how `kill`, `term`, `hup` or `full`.
 * @returns what happened, in the form of the table of expected outcomes, and the folios that the client knows: recorded,
 * or printed when the disk was full.
 */
export async function strike(parent, { failpoint, nth, submitted, how, unbroken, ...job }) {
  const pipeline = `${failpoint}-${how}`;
  const folder = join(parent, pipeline);
  mkdirSync(folder);
  const isFull = how === 'full';
  const unmount = isFull ? mountSmallDisk(folder) : undefined;
  try {
    writeJob(folder, { pipeline, ...job });
    const output = join(folder, 'out/enriched.csv');
    const filler = join(folder, 'filler');
    if (submitted) {
      const { end, stderr } = await foliopipe(folder, submit);
      demand(end === 0, `submit ended with ${end}: ${stderr}`);
    }

    const armed = `${failpoint}:${nth}:${isFull ? 'kill' : how}`;
    const fill = isFull ? { NODE_OPTIONS: `--import=${preload}`, PROVE_FILLER: filler } : {};
    const first = await foliopipe(folder, run, { FOLIOPIPE_CRASH_AT: armed, ...fill });
    const error = first.summary?.error;
    demand(
      !existsSync(output) || readFileSync(output).equals(unbroken),
      'the struck run left a wrong output',
    );
    demand(error === undefined || error.hint, `${error?.code} does not say what to do next`);
    const signal = { term: 'SIGTERM', hup: 'SIGHUP' }[how];
    if (signal) demand(first.stderr.includes(`${signal}: stopping`), 'the failpoint was never passed');
    if (isFull) {
      demand(existsSync(filler), `the failpoint was never passed: ${first.end} ${first.stderr}`);
      // Closing the checkpoint may have freed some space. On a full disk the error must be as clear as before.
      fillDisk(filler);
      const again = await foliopipe(folder, run);
      const { code } = again.summary?.error ?? {};
      demand(
        again.end === 5 && code === 'DISK_FULL',
        `on a full disk: ${again.end} ${code}: ${again.stderr}`,
      );
      rmSync(filler);
    }
    const second = await foliopipe(folder, error?.resume ? wordsOf(error.resume) : run);
    demand(second.end === 0, `the second run ended with ${second.end}: ${second.stderr}`);
    demandWhole(folder, unbroken);
    const { accepted, ambiguous } = second.summary.uploads;
    const recorded = query(join(folder, 'state/checkpoint.db'), 'SELECT folio FROM uploads');
    return {
      pipeline,
      outcome: { first: first.end, error: error?.code ?? null, second: second.end, accepted, ambiguous },
      isKnown: (folio) => first.stderr.includes(folio) || recorded.some((row) => row.folio === folio),
    };
  } finally {
    unmount?.();
    rmSync(folder, { recursive: true });
  }
}

function wordsOf(command) {
  return command.split(' ').slice(1);
}

function demandWhole(folder, unbroken) {
  const out = join(folder, 'out');
  demand(
    readFileSync(join(out, 'enriched.csv')).equals(unbroken),
    'the output differs from the unbroken one',
  );
  const names = readdirSync(out).sort();
  const whole = ['enriched.csv', 'enriched.csv._REHEARSAL', 'enriched.csv.manifest.json'];
  demand(String(names) === String(whole), `beside the output: ${names}`);
  const state = readdirSync(join(folder, 'state'), { recursive: true });
  const left = state.filter((name) => /\.(tmp|partial)$|\/chunk-/.test(name));
  demand(left.length === 0, `left in the state folder: ${left}`);
}

function demand(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}
