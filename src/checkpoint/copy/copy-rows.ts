/** Copies the rows of a state into another database, and proves that they are the same there. */
import { createHash } from 'node:crypto';
import { TroubleError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { type CopiedTable, copiedTables } from './copied-tables.js';

/** The values of a row, in the order of the table's columns. */
export type CopiedRow = readonly (string | number | null | Uint8Array)[];

/** The rows of a state. */
export interface StateRows {
  /** Gives all rows of a table in the order of its key, page by page. */
  read(table: CopiedTable, onPage: (rows: readonly CopiedRow[]) => Promise<void>): Promise<void>;
}

/** The rows of a state that is being made. */
export interface NewStateRows extends StateRows {
  /** Adds rows after all others of the table. */
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
}

export interface TableSum {
  readonly table: string;
  readonly rows: number;
  /** Of all rows in their order, hex. */
  readonly sha256: string;
}

/**
 * @returns what each table holds, the same in both.
 * @throws TroubleError `STATE_COPY_DIFFERS`; the signal's reason.
 */
export async function copyRows(
  from: StateRows,
  to: NewStateRows,
  signal: AbortSignal,
): Promise<readonly TableSum[]> {
  const sums = await sumRows(from, async (table, rows) => {
    signal.throwIfAborted();
    await to.write(table, rows);
  });
  expectSame(sums, await sumRows(to), 'the copy is not the same');
  return sums;
}

/**
 * Compares what was copied with the state that it was copied from.
 * @throws TroubleError `STATE_COPY_DIFFERS` when that has changed meanwhile.
 */
export async function expectUnchanged(copied: readonly TableSum[], from: StateRows): Promise<void> {
  expectSame(copied, await sumRows(from), 'the state has changed while it was copied');
}

/**
 * What each table holds.
 * @param onPage called with each page of rows.
 */
async function sumRows(
  state: StateRows,
  onPage?: (table: CopiedTable, rows: readonly CopiedRow[]) => Promise<void>,
): Promise<readonly TableSum[]> {
  const sums: TableSum[] = [];
  for (const table of copiedTables()) {
    const sum = createSum(table);
    await state.read(table, async (rows) => {
      sum.add(rows);
      await onPage?.(table, rows);
    });
    sums.push(sum.end());
  }
  return sums;
}

/** @throws TroubleError `STATE_COPY_DIFFERS`. */
function expectSame(sums: readonly TableSum[], others: readonly TableSum[], what: string): void {
  for (const [at, { table, rows, sha256 }] of sums.entries()) {
    const other = others[at]!;
    if (other.rows === rows && other.sha256 === sha256) continue;
    const how =
      other.rows === rows ? 'has other values' : `had ${countOf(rows, 'row')}, and then ${other.rows}`;
    throw new TroubleError('STATE_COPY_DIFFERS', `${what}: the table ${table} ${how}`, {
      facts: { table, rows, others: other.rows },
    });
  }
}

function createSum({ name }: CopiedTable) {
  const hash = createHash('sha256');
  let count = 0;
  return {
    add: (rows: readonly CopiedRow[]) => {
      count += rows.length;
      for (const row of rows) hash.update(`${JSON.stringify(row.map(hashable))}\n`);
    },
    end: (): TableSum => ({ table: name, rows: count, sha256: hash.digest('hex') }),
  };
}

function hashable(value: CopiedRow[number]): string | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
}
