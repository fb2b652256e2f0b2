/**
 * Loads a publication into Postgres in one transaction: lock, row of the load, staging by COPY, rows into the table. A
 * kill at any moment leaves either nothing or all of it.
 */
import { createHash } from 'node:crypto';
import { ConfigError, UntrustedError } from '../../errors.js';
import { showText } from '../../text.js';
import type {
  Loaded,
  LoadFile,
  LoadOptions,
  LoadRequest,
  LoadTable,
  LoadTarget,
  TargetOptions,
} from '../load-target.js';
import { isLoaded, takesDelta } from '../order-of-loads.js';
import { type Transaction, withTransaction } from './connect.js';
import { type FittedTable, fitTable } from './fit-table.js';
import {
  createLoadsTable,
  insertLoad,
  type LastLoad,
  lastLoad,
  lockStatement,
  otherPipeline,
  tryLoadsStatements,
  updateCounts,
} from './loads-table.js';
import { checkNames } from './names.js';
import { type FoundTable, readTable, readTableName, type TableName } from './read-table.js';
import {
  addColumns,
  copyIntoStaging,
  copyIntoTable,
  createStaging,
  createTable,
  quoteTable,
  type StatementPlan,
  writeStatements,
} from './statements.js';

export function createPostgresTarget(options: TargetOptions): LoadTarget {
  return {
    check: async (table, signal) => {
      checkNames(table);
      // Never committed.
      await withTransaction(options, signal, (transaction) => tryLoad(transaction, table));
    },
    load: async (request, { signal, at }) => {
      checkNames(request);
      return withTransaction(options, signal, (transaction, commit) =>
        load(transaction, commit, request, at),
      );
    },
  };
}

/** What the database says about the table, before a load. */
interface FoundTarget {
  readonly name: TableName;
  readonly found: FoundTable | undefined;
  readonly last: LastLoad | undefined;
  readonly fitted: FittedTable;
}

async function findTarget(transaction: Transaction, load: LoadTable): Promise<FoundTarget> {
  const name = await readTableName(transaction, load.table);
  await createLoadsTable(transaction, name);
  const last = await lastLoad(transaction, name, load.pipeline);
  await checkAlone(transaction, load, name);
  const found = await readTable(transaction, name);
  return { name, found, last, fitted: fitTable(load, found, last?.columns) };
}

/** Checks that no other pipeline has rows in a table from which this one deletes rows that are not its own. */
async function checkAlone(transaction: Transaction, load: LoadTable, name: TableName): Promise<void> {
  if (load.mode !== 'replace' && load.onRemoved === 'keep') return;
  const other = await otherPipeline(transaction, name, load.pipeline);
  if (other === undefined) return;
  throw new ConfigError(
    'LOAD_TABLE_SHARED',
    `load.table: pipeline ${other} loads into ${showText(load.table, 130)} too, and pipeline ${load.pipeline} would delete its rows`,
    {
      hint: 'give each pipeline a table of its own, or use load.mode: append, or merge with onRemoved: keep',
      facts: { table: load.table, other },
    },
  );
}

/** Does what a load does but for the data, and but for locks that others would wait for. */
async function tryLoad(transaction: Transaction, load: LoadTable): Promise<void> {
  const { name, found, fitted } = await findTarget(transaction, load);
  for (const statement of tryLoadsStatements(name)) await transaction.query(statement);
  if (found === undefined) {
    for (const statement of createTable(quoteTable(name), load.mode, fitted.columns))
      await transaction.query(statement);
  } else if (fitted.missing.length > 0) {
    // Who may add columns owns the table, and may write it.
    return;
  }
  const plan = planOf({ ...load, run: '' }, name, fitted, false);
  await transaction.query(createStaging(plan));
  const { deletes, write } = writeStatements(plan);
  for (const { text, values = [] } of [...deletes, write]) {
    await transaction.query({ text: `explain ${text}`, values });
  }
}

async function load(
  transaction: Transaction,
  commit: () => Promise<void>,
  request: LoadRequest,
  at: LoadOptions['at'],
): Promise<Loaded> {
  await transaction.query(lockStatement(await readTableName(transaction, request.table)));
  const target = await findTarget(transaction, request);
  const { name, found, last, fitted } = target;
  const nothing = { already: true, base: null, written: 0, removed: 0, added: [] };
  if (isLoaded(request, last)) return nothing;
  const delta = takesDelta(request, last) ? request.delta : null;
  const base = delta?.base.publication ?? null;
  const names = fitted.columns.map((column) => column.name);
  if (!(await insertLoad(transaction, name, request, { base, columns: names }))) return nothing;
  for (const statement of found === undefined
    ? createTable(quoteTable(name), request.mode, fitted.columns)
    : addColumns(quoteTable(name), fitted.missing)) {
    await transaction.query(statement);
  }
  const plan = planOf(request, name, fitted, delta !== null);
  const { written, removed } = takesFile(plan, found)
    ? await writeDirectly(transaction, plan, request.file, at)
    : await writeStaged(transaction, plan, delta ?? request.file, at);
  await updateCounts(transaction, name, request, { written, removed });
  at('after-load-rows-before-commit');
  await commit();
  at('after-load-commit-before-end');
  return { already: false, base, written, removed, added: found === undefined ? [] : fitted.missing };
}

interface WrittenRows {
  readonly written: number;
  readonly removed: number;
}

/** Whether the file can be copied into the table itself: no row of it must be found there first. */
function takesFile({ mode, isDelta }: StatementPlan, found: FoundTable | undefined): boolean {
  if (found === undefined) return mode !== 'append';
  return mode === 'replace' && !isDelta && !found.hasRowSecurity;
}

async function writeDirectly(
  transaction: Transaction,
  plan: StatementPlan,
  file: LoadFile,
  at: LoadOptions['at'],
): Promise<WrittenRows> {
  // In mode merge, the table is new and empty.
  const removed = plan.mode === 'replace' ? await deleteRows(transaction, plan) : 0;
  await copyFile(transaction, copyIntoTable(plan), file, at);
  at('after-load-copy-before-rows');
  return { written: file.records, removed };
}

async function writeStaged(
  transaction: Transaction,
  plan: StatementPlan,
  file: LoadFile,
  at: LoadOptions['at'],
): Promise<WrittenRows> {
  await transaction.query(createStaging(plan));
  await copyFile(transaction, copyIntoStaging, file, at);
  at('after-load-copy-before-rows');
  const removed = await deleteRows(transaction, plan);
  const { count: written } = await transaction.query(writeStatements(plan).write);
  return { written, removed };
}

async function deleteRows(transaction: Transaction, plan: StatementPlan): Promise<number> {
  let removed = 0;
  for (const statement of writeStatements(plan).deletes)
    removed += (await transaction.query(statement)).count;
  return removed;
}

function planOf(
  { mode, onRemoved, run }: Pick<LoadRequest, 'mode' | 'onRemoved' | 'run'>,
  name: TableName,
  { columns }: FittedTable,
  isDelta: boolean,
): StatementPlan {
  return { table: quoteTable(name), mode, columns, isDelta, deletesGone: onRemoved === 'delete', run };
}

/**
 * Copies the bytes of a file, as they are.
 * @throws ConfigError `OUTPUT_CHANGED` when they are not those that were published; UntrustedError `LOAD_ROWS_DIFFER`
 *   when the server has read another number of rows.
 */
async function copyFile(
  transaction: Transaction,
  copy: string,
  file: LoadFile,
  at: LoadOptions['at'],
): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  const hashed = async function* () {
    for await (const piece of file.open()) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
      at('after-load-piece-before-next');
    }
  };
  const records = await transaction.copyFrom(copy, hashed());
  if (bytes !== file.bytes || hash.digest('hex') !== file.sha256) {
    throw new ConfigError('OUTPUT_CHANGED', 'the output is not as it was published, and was not loaded', {
      hint: 'write it again with: foliopipe publish last; then: foliopipe load last',
      facts: { bytes, published: file.bytes },
    });
  }
  if (records === file.records) return;
  throw new UntrustedError(
    'LOAD_ROWS_DIFFER',
    `the database has read ${records} rows, and the output has ${file.records}: nothing was loaded`,
    {
      hint: 'please report it, with the version of the server; a line that holds only \\. ends the data for servers before version 18',
      facts: { records, published: file.records },
    },
  );
}
