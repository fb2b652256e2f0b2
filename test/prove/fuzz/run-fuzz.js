/**
 * The fuzzing proof: round after round of random scans, files and jobs, each with a seed of its own.
 * The same seed gives the same rounds, however long the machine takes for them.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJobCase } from './job-case.js';
import { runJobIteration, writeJobCase } from './job-iteration.js';
import { createRandom, iterationSeed } from './random.js';
import { createScannerCase, runScannerIteration } from './scanner-iteration.js';
import { createSourceCase, runSourceIteration } from './source-iteration.js';

/** Every kind draws a case, writes what a person needs to look at it, and proves it. */
const KINDS = {
  scan: {
    inRound: 100,
    create: createScannerCase,
    write: ({ bytes, grammar }, folder) => writeCase(bytes, grammar, folder),
    run: (drawn, random) => runScannerIteration(drawn, random),
    bytesOf: ({ bytes }) => bytes.length,
  },
  file: {
    inRound: 8,
    create: createSourceCase,
    write: ({ bytes, settings }, folder) => writeCase(bytes, settings, folder),
    run: (drawn, _random, folder) => runSourceIteration(drawn, folder),
    bytesOf: ({ bytes }) => bytes.length,
  },
  job: {
    inRound: 1,
    create: createJobCase,
    write: writeJobCase,
    run: (drawn, _random, folder) => runJobIteration(drawn, folder),
    bytesOf: ({ files }) => files.reduce((sum, { bytes }) => sum + bytes.length, 0),
  },
};

/** A counterexample: what it is drawn from, and the folder that keeps it. */
export class FuzzFailure extends Error {
  constructor(kind, seed, folder, cause) {
    super(
      `${kind}:${seed} failed, its source is kept in ${folder}: ${String(cause.message).slice(0, 2000)}`,
      { cause },
    );
    this.again = `${kind}:${seed}`;
    this.folder = folder;
  }
}

/**
 * @param seed of the whole proof.
 * @param goesOn called before every round, with what was done so far; says whether to go on.
 * @returns iterations by kind, and how many records and bytes were in them.
 * @throws FuzzFailure at the first counterexample.
 */
export async function runFuzz(seed, goesOn) {
  const totals = { scan: 0, file: 0, job: 0, records: 0, bytes: 0 };
  while (goesOn(totals)) {
    for (const [at, kind] of Object.keys(KINDS).entries()) {
      for (let turn = 0; turn < KINDS[kind].inRound; turn++) {
        const { records, bytes } = await runIteration(kind, iterationSeed(seed, at, totals[kind]));
        totals[kind] += 1;
        totals.records += records;
        totals.bytes += bytes;
      }
    }
  }
  return totals;
}

/** One iteration. To repeat a failed one, take the `kind` and the `seed` that its error names. */
export async function runIteration(kind, seed) {
  const { create, write, run, bytesOf } = KINDS[kind];
  const random = createRandom(seed);
  const drawn = create(random);
  const needsFolder = kind !== 'scan';
  const folder = needsFolder ? await makeFolder() : undefined;
  try {
    if (kind === 'job') await write(drawn, folder);
    const records = await run(drawn, random, folder);
    if (needsFolder) await rm(folder, { recursive: true, force: true });
    return { records, bytes: bytesOf(drawn) };
  } catch (error) {
    const kept = folder ?? (await makeFolder());
    if (kind !== 'job') await write(drawn, kept);
    throw new FuzzFailure(kind, seed, kept, error);
  }
}

function makeFolder() {
  return mkdtemp(join(tmpdir(), 'foliopipe-fuzz-'));
}

async function writeCase(bytes, settings, folder) {
  await writeFile(join(folder, 'source.csv'), bytes);
  await writeFile(join(folder, 'case.json'), JSON.stringify(settings, null, 2));
}
