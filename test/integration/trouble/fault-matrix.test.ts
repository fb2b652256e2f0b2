/** A short version of the fault matrix: one cell per outcome, and a table that has every fault. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { beforeAll, describe, expect, it } from 'vitest';
import { type FaultName, faultSchema, operationsOf } from '../../../src/service/faults/fault.js';
import { OPERATIONS } from '../../../src/service/http/operation.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';

const root = join(import.meta.dirname, '../../..');
const folder = useSharedFolder();
/** Cells wait for each other, and the waiting counts against their timeout. */
const limit = pLimit(3);

interface Cell {
  readonly id: string;
  readonly operation: string;
  readonly fault: string;
}

interface Undisturbed {
  readonly output: Buffer;
  readonly answer: string;
}

/** What the programs of the proof return; they are plain JavaScript. */
interface Proof {
  readonly cells: readonly Cell[];
  readonly tableText: (cells: readonly Cell[]) => string;
  readonly proveCell: (cell: Cell, parent: string, undisturbed: Undisturbed) => Promise<string[]>;
  readonly undisturbedRun: (folder: string) => Promise<Undisturbed>;
}

async function loadProof(): Promise<Proof> {
  const names = ['cells', 'write-table', 'prove-cell'];
  const modules: object[] = await Promise.all(
    names.map((name) => import(join(root, 'test/prove/faults', `${name}.js`))),
  );
  return Object.assign({}, ...modules) as Proof;
}

let proof: Proof;
let undisturbed: Undisturbed;
beforeAll(async () => {
  proof = await loadProof();
  undisturbed = await proof.undisturbedRun(await folder());
});

describe('a cell', () => {
  it.concurrent.each([
    ['0, tried again', 'download cut `in-reply`, once'],
    ['0, paid twice and reported', 'upload cut `after-accepting`, once'],
    ['0, the bad record FAILED', 'upload status 422 for the file with one bad record'],
    ['3, lost', 'track forget one folio'],
    ['5, an outage', 'track status 503, for ever'],
    ['6, not trusted', 'download records one doubled in the place of another, for ever'],
    ['7, refused', 'track status 401, for ever'],
    ['5, an ambiguous search', 'search status 500, once'],
  ])(
    'with outcome %s: %s',
    (_outcome, id) =>
      limit(async () => {
        const cell = proof.cells.find((one) => one.id === id);
        expect(cell, id).toBeDefined();
        expect(await proof.proveCell(cell!, await folder(), undisturbed)).toEqual([]);
      }),
    180_000,
  );
});

describe('docs/generated/fault-matrix.md', () => {
  it('is what npm run prove:faults writes for the cells', async () => {
    const text = await readFile(join(root, 'docs/generated/fault-matrix.md'), 'utf8');
    expect(text === proof.tableText(proof.cells), 'npm run prove:faults writes it again').toBe(true);
  });

  it('has no empty cell, and a row for every cell of the proof', async () => {
    const text = await readFile(join(root, 'docs/generated/fault-matrix.md'), 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('| '));
    const columns = rows[0]!.split('|').length;
    for (const row of rows) {
      const cells = row.split('|').slice(1, -1);
      expect([row, cells.length]).toEqual([row, columns - 2]);
      expect(cells.filter((cell) => cell.trim() === '')).toEqual([]);
    }
    expect(rows).toHaveLength(1 + proof.cells.length);
    expect(new Set(proof.cells.map(({ id }) => id)).size).toBe(proof.cells.length);
  });

  it.each([...OPERATIONS, 'any'])('shows %s with every fault that can hit it', async (operation) => {
    const shown = proof.cells.filter((cell) => cell.operation === operation).map(({ fault }) => fault);
    expect([...new Set(shown)].sort()).toEqual([...faultsOf(operation)].sort());
  });
});

/** The faults that the code allows for an operation. */
function faultsOf(operation: string): string[] {
  const known = Object.keys(faultSchema.def.type === 'object' ? faultSchema.shape : {}) as FaultName[];
  expect(known.length).toBeGreaterThan(10);
  const canHit = (name: FaultName): readonly string[] => operationsOf(name, { counts: { total: 1 } });
  return known.filter((name) => operation === 'any' || canHit(name).includes(operation));
}
