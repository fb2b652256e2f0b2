/** The load of a publication in one transaction, the same for every database: lock, row of the load, staging, rows. */
import { ConfigError } from '../errors.js';
import { countOf } from '../quantities.js';
import { showNames, showText } from '../text.js';
import { checkRecords } from './check-read-file.js';
import type { FoundTable, TableName, Transaction } from './database.js';
import { type FittedTable, fitTable, keyColumns } from './fit-table.js';
import { doubleKeyError, rowsLeftOut, storedKeyError } from './load-errors.js';
import type { LoadDelta, Loaded, LoadFile, LoadOptions, LoadRequest, LoadTable } from './load-target.js';
import {
  createLoadsTable,
  deleteLoad,
  insertLoad,
  type LastLoad,
  lastLoad,
  otherPipeline,
  tryLoadsStatements,
  updateLoad,
} from './loads-table.js';
import { RUN_COLUMN } from './names.js';
import { isLoaded, takesDelta } from './order-of-loads.js';
import {
  addColumns,
  countStored,
  createStaging,
  createTable,
  findKeptKey,
  findUnfitKey,
  quoteTable,
  type StatementPlan,
  stagingTarget,
  tableTarget,
  writeStatements,
} from './statements.js';

/** What the database says about the table, before a load. */
interface FoundTarget {
  readonly name: TableName;
  readonly found: FoundTable | undefined;
  readonly last: LastLoad | undefined;
  readonly fitted: FittedTable;
}

/** @param comparesLast whether the columns of the last load are compared with those of the output. */
async function findTarget(
  transaction: Transaction,
  load: LoadTable,
  name: TableName,
  comparesLast: boolean,
): Promise<FoundTarget> {
  await createLoadsTable(transaction, name);
  const last = await lastLoad(transaction, name, load.pipeline);
  await checkAlone(transaction, load, name);
  const found = await transaction.readTable(name);
  return { name, found, last, fitted: fitTable(load, found, comparesLast ? last?.columns : undefined) };
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
      hint: `give each pipeline a table of its own, or use load.mode: append, or merge with onRemoved: keep; if ${other} is an earlier name of this pipeline: delete its rows from foliopipe_loads`,
      facts: { table: load.table, other },
    },
  );
}

/** Tries the statements of a load without its data. Other loads wait for it only if the table is missing. Commits nothing. */
export async function tryLoad(transaction: Transaction, load: LoadTable): Promise<void> {
  // Until the service's columns are known, the output lacks them, although they may still come.
  const isWhole = load.columns.some(({ role }) => role === 'answer');
  const name = await transaction.tableName(load.table);
  // The load of another pipeline may be making the table: then a statement that makes it here would fail. It is locked
  // first, as by a load, so that the two never wait for each other.
  if ((await transaction.readTable(name)) === undefined) await transaction.lock(name);
  const target = await findTarget(transaction, load, name, isWhole);
  const { found, fitted } = target;
  for (const statement of tryLoadsStatements(name)) await transaction.query(statement);
  if (found === undefined) {
    for (const statement of createTable(transaction.dialect, quoteTable(name), load.mode, fitted.columns))
      await transaction.query(statement);
  } else if (fitted.missing.length > 0) {
    // Only the owner of a table may add columns, and the owner may write it.
    return;
  }
  const plan = planOf(transaction, { ...load, run: '' }, target, false);
  await transaction.query(createStaging(plan));
  const { deletes, write } = writeStatements(plan);
  for (const { text, values = [] } of [...deletes, write]) {
    await transaction.query({ text: `explain ${text}`, values });
  }
}

/** Loads a publication, and commits it. */
export async function loadRows(
  transaction: Transaction,
  request: LoadRequest,
  at: LoadOptions['at'],
): Promise<Loaded> {
  const name = await transaction.tableName(request.table);
  await transaction.lock(name);
  const target = await findTarget(transaction, request, name, true);
  const { found, last, fitted } = target;
  const nothing = { already: true, base: null, written: 0, removed: 0, added: [] };
  if (isLoaded(request, last)) {
    if (found !== undefined) return nothing;
    await deleteLoad(transaction, name, request);
  }
  const delta = takesDelta(request, last, fitted.missing) ? request.delta : null;
  const names = fitted.columns.map((column) => column.name);
  if (!(await insertLoad(transaction, name, request, names))) return nothing;
  const { dialect } = transaction;
  for (const statement of found === undefined
    ? createTable(dialect, quoteTable(name), request.mode, fitted.columns)
    : addColumns(dialect, quoteTable(name), fitted.missing)) {
    await transaction.query(statement);
  }
  const plan = planOf(transaction, request, target, delta !== null);
  const rows = takesFile(plan, target)
    ? await writeDirectly(transaction, plan, request.file, at)
    : delta !== null
      ? await writeDelta(transaction, plan, { delta, whole: request.file }, at)
      : await writeStaged(transaction, plan, request.file, at);
  await updateLoad(transaction, name, request, rows);
  at('after-load-rows-before-commit');
  await transaction.commit();
  at('after-load-commit-before-end');
  return { already: false, ...rows, added: found === undefined ? [] : fitted.missing };
}

type WrittenRows = Pick<Loaded, 'base' | 'written' | 'removed'>;

/** Whether the file can be copied into the table itself: none of its rows needs to be looked up there first. */
function takesFile({ mode }: StatementPlan, { found, fitted }: FoundTarget): boolean {
  if (found === undefined) return true;
  if (mode === 'merge' || !found.isPlain) return false;
  return mode === 'replace' || found.fillsRun || fitted.missing.includes(RUN_COLUMN);
}

async function writeDirectly(
  transaction: Transaction,
  plan: StatementPlan,
  file: LoadFile,
  at: LoadOptions['at'],
): Promise<WrittenRows> {
  // In mode merge, the table is new and empty.
  const removed = plan.mode === 'merge' ? 0 : await deleteRows(transaction, plan);
  checkRecords(await transaction.copy(tableTarget(plan), file, at), file);
  at('after-load-copy-before-rows');
  return { base: null, written: file.records, removed };
}

/**
 * Writes the delta. If rows that are not in the output must be deleted, and the number of rows shows that somebody else
 * has added or deleted some, writes the whole output after it.
 */
async function writeDelta(
  transaction: Transaction,
  plan: StatementPlan,
  { delta, whole }: { readonly delta: LoadDelta; readonly whole: LoadFile },
  at: LoadOptions['at'],
): Promise<WrittenRows> {
  const { written, removed } = await writeStaged(transaction, plan, delta, at);
  const counted = { base: delta.base.publication, written, removed };
  if (!plan.deletesGone) return counted;
  const { rows } = await transaction.query<{ n: string }>(`select count(*) as n from ${plan.table}`);
  if (Number(rows[0]!.n) === whole.records) return counted;
  await transaction.query(`drop table ${plan.dialect.staging}`);
  const more = await writeStaged(transaction, { ...plan, isDelta: false }, whole, at);
  return { base: null, written: written + more.written, removed: removed + more.removed };
}

async function writeStaged(
  transaction: Transaction,
  plan: StatementPlan,
  file: LoadFile,
  at: LoadOptions['at'],
): Promise<WrittenRows> {
  await transaction.query(createStaging(plan));
  checkRecords(await transaction.copy(stagingTarget(plan), file, at), file);
  at('after-load-copy-before-rows');
  const removed = await deleteRows(transaction, plan);
  const { count: written } = await transaction.query(writeStatements(plan).write).catch((error: unknown) => {
    throw plan.mode === 'merge' && transaction.isDoubleKey(error) ? doubleKeyError(keyOf(plan)) : error;
  });
  await checkKeys(transaction, plan);
  await checkStored(transaction, plan, file);
  return { base: null, written, removed };
}

async function checkKeys(transaction: Transaction, plan: StatementPlan): Promise<void> {
  const kept = await firstKey(transaction, findKeptKey(plan));
  if (kept !== undefined)
    throw rowsLeftOut(
      `it has kept the row with the key ${showNames(kept, 63)}, which was to be deleted`,
      plan.table,
    );
  const unfit = await firstKey(transaction, findUnfitKey(plan));
  if (unfit === undefined) return;
  throw plan.isPlain
    ? storedKeyError(keyOf(plan), unfit)
    : rowsLeftOut(`it has no row with the key ${showNames(unfit, 63)}`, plan.table);
}

/** The key that a statement finds. @param find undefined if there is nothing to ask. */
async function firstKey(
  transaction: Transaction,
  find: string | undefined,
): Promise<readonly string[] | undefined> {
  if (find === undefined) return undefined;
  const { rows } = await transaction.query<Record<string, string>>(find);
  return rows[0] && Object.values(rows[0]);
}

/** Checks that the table has as many rows as the file, after rows were deleted and written. */
async function checkStored(
  transaction: Transaction,
  plan: StatementPlan,
  { records }: LoadFile,
): Promise<void> {
  const count = countStored(plan);
  if (count === undefined) return;
  const { rows } = await transaction.query<{ n: string }>(count);
  const stored = Number(rows[0]!.n);
  if (stored === records) return;
  throw rowsLeftOut(`it has ${countOf(stored, 'row')} of the ${records} after it was written`, plan.table);
}

function keyOf({ columns }: StatementPlan): readonly string[] {
  return keyColumns(columns).map(({ name }) => name);
}

async function deleteRows(transaction: Transaction, plan: StatementPlan): Promise<number> {
  let removed = 0;
  for (const statement of writeStatements(plan).deletes)
    removed += (await transaction.query(statement)).count;
  return removed;
}

function planOf(
  { dialect }: Transaction,
  { mode, onRemoved, run }: Pick<LoadRequest, 'mode' | 'onRemoved' | 'run'>,
  { name, found, fitted: { columns } }: Pick<FoundTarget, 'name' | 'found' | 'fitted'>,
  isDelta: boolean,
): StatementPlan {
  const deletesGone = onRemoved === 'delete';
  const isPlain = found?.isPlain ?? true;
  return { dialect, table: quoteTable(name), mode, columns, isDelta, deletesGone, run, isPlain };
}
