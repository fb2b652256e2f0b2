/**
 * Feeds random sources to the scanner, which is compared with csv-parse, and to whole jobs, whose output must have every
 * record with its values and its own prediction. Silent until the end; a failure prints how to repeat it.
 * npm run prove:fuzz -- [--minutes 5] [--seed 1] [--again KIND:SEED]
 * With TMPDIR on a file system in memory it does several times as many iterations.
 */
import { readOptions } from '../../bench/read-options.js';
import { FuzzFailure, runFuzz, runIteration } from './fuzz/run-fuzz.js';

const { values, refuse } = readOptions('npm run prove:fuzz -- [--minutes N] [--seed N] [--again KIND:SEED]', {
  minutes: { type: 'number', least: 0, default: '5' },
  seed: { type: 'count', least: 0, default: '1' },
  again: { type: 'string' },
});
const { seed, minutes } = values;
const again = /^(scan|file|job):(\d+)$/.exec(values.again ?? '');
if (values.again !== undefined && again === null) {
  refuse(`--again ${values.again}: expected scan, file or job, a colon and a seed`);
}

try {
  if (again !== null) {
    const { records } = await runIteration(again[1], Number(again[2]));
    console.log(`${values.again} passes now: ${records} records`);
  } else {
    const until = Date.now() + minutes * 60_000;
    const { scan, file, job, records, bytes } = await runFuzz(seed, () => Date.now() < until);
    console.log(
      `seed ${seed}: ${scan + file + job} iterations (${scan} scans, ${file} files, ${job} jobs), each with a seed of its own, ` +
        `of ${records} records and ${bytes} bytes; scanner and csv-parse agree, no record lost or changed`,
    );
  }
} catch (error) {
  if (!(error instanceof FuzzFailure)) throw error;
  console.error(`${error.message}\nto see it again: npm run prove:fuzz -- --again ${error.again}`);
  process.exit(1);
}
