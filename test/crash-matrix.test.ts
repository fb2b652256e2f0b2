/** docs/generated/crash-matrix.md is what `npm run prove:crash` writes, and no failpoint is missing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failpoints } from '../src/failpoints.js';

const root = join(import.meta.dirname, '..');

interface Row {
  readonly failpoint: string;
  readonly how: string;
  readonly outcome: object;
}

/** What the proof's programs, which are plain JavaScript, give. */
interface Proof {
  readonly outcomesAt: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly elsewhere: Readonly<Record<string, string>>;
  readonly matrixPage: (rows: readonly Row[]) => string;
}

async function loadProof(): Promise<Proof> {
  const modules: object[] = await Promise.all(
    ['expected', 'matrix-page'].map((name) => import(join(root, 'test/prove/crash', `${name}.js`))),
  );
  return Object.assign({}, ...modules) as Proof;
}

it('the matrix is what npm run prove:crash writes of the expected outcomes', async () => {
  const { outcomesAt, matrixPage } = await loadProof();
  const rows = failpoints.flatMap((failpoint) =>
    Object.entries(outcomesAt[failpoint] ?? {})
      .filter(([, outcome]) => typeof outcome === 'object')
      .map(([how, outcome]) => ({ failpoint, how, outcome: outcome as object })),
  );
  expect(rows.length).toBeGreaterThan(50);
  const text = readFileSync(join(root, 'docs/generated/crash-matrix.md'), 'utf8');
  expect(text === matrixPage(rows), 'npm run prove:crash writes it again').toBe(true);
});

it('each failpoint has an outcome, or a test elsewhere', async () => {
  const { outcomesAt, elsewhere } = await loadProof();
  expect([...Object.keys(outcomesAt), ...Object.keys(elsewhere)].sort()).toEqual([...failpoints].sort());
});
