/**
 * Runs every operation with every fault that can hit it, compares each outcome with the expected one, and writes
 * docs/generated/fault-matrix.md.
 * npm run prove:faults -- [--only TEXT]...
 * `--only` runs the cell of that name, or those with the text in theirs, and writes no table.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { readOptions } from '../../bench/read-options.js';
import { cells } from './faults/cells.js';
import { proveCell, undisturbedRun } from './faults/prove-cell.js';
import { tableText } from './faults/write-table.js';

const AT_ONCE = 2;
const table = fileURLToPath(new URL('../../docs/generated/fault-matrix.md', import.meta.url));
const { values, refuse } = readOptions('npm run prove:faults -- [--only TEXT]...', {
  only: { type: 'string', multiple: true, default: [] },
});
const names = new Set(cells.map(({ id }) => id));
const unknown = values.only.filter((text) => !cells.some(({ id }) => id.includes(text)));
if (unknown.length > 0) refuse(`no cell has ${unknown.join(', ')} in its name`);
const isNamed = (id) => values.only.some((text) => (names.has(text) ? id === text : id.includes(text)));
const chosen = values.only.length === 0 ? cells : cells.filter(({ id }) => isNamed(id));

const folder = mkdtempSync(join(tmpdir(), 'foliopipe-faults-'));
const began = performance.now();
let failures = 0;
const undisturbed = await undisturbedRun(folder);

const limit = pLimit(AT_ONCE);
await Promise.all(
  chosen.map((cell) =>
    limit(async () => {
      const problems = await proveCell(cell, folder, undisturbed).catch((error) => [error.stack]);
      if (problems.length > 0) failures += 1;
      print({ id: cell.id, problems });
    }),
  ),
);

if (failures > 0) {
  process.exitCode = 1;
  console.error(
    `${failures} of ${chosen.length} cells are not as expected; their files are kept in ${folder}`,
  );
} else {
  rmSync(folder, { recursive: true, force: true });
  if (values.only.length === 0) writeFileSync(table, tableText(cells));
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${chosen.length} cells are as expected, in ${seconds} s`);
}

function print({ id, problems }) {
  console.log(`${problems.length === 0 ? 'ok' : 'NOT AS EXPECTED'}  ${id}`);
  for (const problem of problems) console.log(`      ${problem}`);
}
