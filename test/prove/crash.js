/**
 * Stops a job at every failpoint in every way (SIGKILL, SIGTERM, a full disk, at some SIGHUP), runs it again and
 * compares the outcome with the expected one; writes docs/generated/crash-matrix.md.
 * npm run prove:crash -- [--only FAILPOINT] [--how kill,term,hup,full]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import { readOptions } from '../../bench/read-options.js';
import { failpoints } from '../../dist/src/failpoints.js';
import { elsewhere, outcomesAt } from './crash/expected.js';
import { matrixPage } from './crash/matrix-page.js';
import { servedFolios, startService } from './crash/processes.js';
import { enterNamespace } from './crash/small-disk.js';
import { strike, unbrokenOutput } from './crash/strike.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values, refuse } = readOptions(
  'npm run prove:crash -- [--only FAILPOINT] [--how kill,term,hup,full]',
  { only: { type: 'string' }, how: { type: 'string' } },
);
const wanted = values.how?.split(',');

const struck = failpoints.filter((failpoint) => !Object.hasOwn(elsewhere, failpoint));
const missing = struck.filter((failpoint) => !Object.hasOwn(outcomesAt, failpoint));
if (missing.length > 0) throw new Error(`crash/expected.js has no outcome for ${missing.join(', ')}`);
const cells = struck
  .filter((failpoint) => values.only === undefined || failpoint === values.only)
  .flatMap((failpoint) => {
    const { nth, submitted, refusing, rounds = 0, ...outcomes } = outcomesAt[failpoint];
    const strikes = Object.entries(outcomes);
    return strikes.map(([how, expected]) => ({ failpoint, nth, submitted, refusing, rounds, how, expected }));
  })
  .filter(({ how }) => wanted === undefined || wanted.includes(how));
if (cells.length === 0) refuse('there is no such failpoint, or no such way to stop at it');

if (cells.some(({ how }) => how === 'full')) enterNamespace();

const folder = mkdtempSync(join(tmpdir(), 'foliopipe-crash-'));
const serviceData = { usual: join(folder, 'service'), refusing: join(folder, 'refusing-service') };
try {
  const results = await strikeAll();
  const served = { usual: servedFolios(serviceData.usual), refusing: servedFolios(serviceData.refusing) };
  const rows = results.map((cell) => judge(cell, cell.refusing ? served.refusing : served.usual));
  const failed = rows.filter(({ failure }) => failure !== undefined);
  for (const { failpoint, how, failure } of failed) console.error(`${failpoint}, ${how}: ${failure}`);
  if (failed.length > 0) process.exitCode = 1;
  else if (values.only === undefined && wanted === undefined) {
    writeFileSync(join(root, 'docs/generated/crash-matrix.md'), matrixPage(rows));
  }
  console.log(`${rows.length - failed.length} of ${rows.length} stops ended as expected`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function strikeAll() {
  const path = join(folder, 'source.csv');
  const generator = [join(root, 'bench/generate.js'), '--records', '60', '--seed', '1', '--out', path];
  execFileSync(process.execPath, generator);
  const usual = await startService(serviceData.usual);
  // Smaller than any chunk, larger than its half.
  const refusing = await startService(serviceData.refusing, '350B');
  try {
    const source = readFileSync(path);
    const unbroken = await unbrokenOutput(join(folder, 'unbroken'), { source, service: usual });
    const limit = pLimit(2);
    const strikeOne = (cell) =>
      strike(folder, { ...cell, source, unbroken, service: cell.refusing ? refusing : usual }).then(
        (result) => ({ ...cell, ...result }),
        (error) => ({ ...cell, failure: error.message }),
      );
    return await Promise.all(cells.map((cell) => limit(() => strikeOne(cell))));
  } finally {
    await usual.stop();
    await refusing.stop();
  }
}

/** Compares an outcome with the expected one, after the service has ended and all that it accepted is known. */
function judge({ failpoint, how, expected, pipeline, outcome, isKnown, failure }, foliosOf) {
  if (failure !== undefined) return { failpoint, how, failure };
  const served = foliosOf(pipeline);
  const found = { ...outcome, served: served.length };
  // On a full disk the process lives on: what it cannot store, it can still print.
  const lost = how === 'full' ? served.filter((folio) => !isKnown(folio)) : [];
  if (lost.length > 0) return { failpoint, how, failure: `folio ${lost} was neither recorded nor printed` };
  if (isDeepStrictEqual(found, expected)) return { failpoint, how, outcome: found };
  return { failpoint, how, failure: `expected ${JSON.stringify(expected)}, got ${JSON.stringify(found)}` };
}
