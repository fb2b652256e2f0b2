/** The table `foliopipe_loads`, which records what was loaded into the tables of its schema. All SQL about it is here. */
import type { TableName, Transaction } from './database.js';
import { loadsUnfit } from './load-errors.js';
import type { Loaded, LoadRequest } from './load-target.js';
import { LOADS_TABLE } from './names.js';
import type { EarlierLoad } from './order-of-loads.js';
import { quoteTable } from './statements.js';

/** A load that was committed. */
export interface LastLoad extends EarlierLoad {
  /** Names in the table. */
  readonly columns: readonly string[];
}

/** The columns, and their types. */
const COLUMNS = {
  target: 'text not null',
  pipeline: 'text not null',
  publication: 'bigint not null',
  run: 'text not null',
  sha256: 'text not null',
  mode: 'text not null',
  on_removed: 'text not null',
  base: 'bigint',
  columns: 'text not null',
  records: 'bigint not null',
  written: 'bigint',
  removed: 'bigint',
  loaded_at: 'timestamptz not null default now()',
};

/**
 * Creates the table if it is missing. Of two loads that create it at once, one waits for the other.
 * @throws ConfigError `LOAD_UNFIT` if a table of this name lacks a column.
 */
export async function createLoadsTable(transaction: Transaction, target: TableName): Promise<void> {
  const loads = loadsOf(target);
  const found = await transaction.readTable(loads);
  if (found !== undefined) {
    const names = new Set(found.columns.map(({ name }) => name));
    const missing = Object.keys(COLUMNS).filter((name) => !names.has(name));
    if (missing.length > 0) throw loadsUnfit(quoteTable(loads), missing);
    return;
  }
  await transaction.lock(loads);
  await transaction.query(createLoadsText(quoteTable(loads)));
}

/** The statement that creates the table. @param table its quoted name. */
export function createLoadsText(table: string): string {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type},`);
  return `create table if not exists ${table} (
  ${columns.join('\n  ')}
  primary key (target, pipeline, publication)
)`;
}

/** The load with the highest number; undefined before the first one. */
export async function lastLoad(
  transaction: Transaction,
  target: TableName,
  pipeline: string,
): Promise<LastLoad | undefined> {
  const { rows } = await transaction.query<
    Omit<LastLoad, 'publication' | 'columns'> & Record<'publication' | 'columns', string>
  >({
    text: `select publication, run, sha256, mode, on_removed as "onRemoved", columns from ${quotedLoads(target)}
            where target = $1 and pipeline = $2 order by publication desc limit 1`,
    values: [target.name, pipeline],
  });
  const [found] = rows;
  return found && { ...found, publication: Number(found.publication), columns: JSON.parse(found.columns) };
}

/** The name of another pipeline that has loaded into the table; undefined if there is none. */
export async function otherPipeline(
  transaction: Transaction,
  target: TableName,
  pipeline: string,
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ pipeline: string }>({
    text: `select pipeline from ${quotedLoads(target)} where target = $1 and pipeline <> $2 limit 1`,
    values: [target.name, pipeline],
  });
  return rows[0]?.pipeline;
}

/** @returns false if the publication has a row already. */
export async function insertLoad(
  transaction: Transaction,
  target: TableName,
  request: LoadRequest,
  columns: readonly string[],
): Promise<boolean> {
  const { pipeline, publication, run, mode, onRemoved, file } = request;
  const { count } = await transaction.query({
    text: `insert into ${quotedLoads(target)}
             (target, pipeline, publication, run, sha256, mode, on_removed, columns, records)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`,
    values: [
      target.name,
      pipeline,
      publication,
      run,
      file.sha256,
      mode,
      onRemoved,
      JSON.stringify(columns),
      file.records,
    ],
  });
  return count === 1;
}

/** Removes the row of a publication whose table no longer exists. */
export async function deleteLoad(
  transaction: Transaction,
  target: TableName,
  { pipeline, publication }: Pick<LoadRequest, 'pipeline' | 'publication'>,
): Promise<void> {
  await transaction.query({
    text: `delete from ${quotedLoads(target)} where target = $1 and pipeline = $2 and publication = $3`,
    values: [target.name, pipeline, publication],
  });
}

export async function updateLoad(
  transaction: Transaction,
  target: TableName,
  { pipeline, publication }: Pick<LoadRequest, 'pipeline' | 'publication'>,
  { base, written, removed }: Pick<Loaded, 'base' | 'written' | 'removed'>,
): Promise<void> {
  await transaction.query({
    text: `update ${quotedLoads(target)} set base = $4, written = $5, removed = $6
            where target = $1 and pipeline = $2 and publication = $3`,
    values: [target.name, pipeline, publication, base, written, removed],
  });
}

/** Statements that fail if the role may not write the table, and change nothing. */
export function tryLoadsStatements(target: TableName): string[] {
  const table = quotedLoads(target);
  return [
    `explain insert into ${table} select * from ${table} where false`,
    `explain update ${table} set written = 0 where target = ''`,
  ];
}

/** The table of loads beside a table that is loaded. */
function loadsOf(target: TableName): TableName {
  return { ...target, name: LOADS_TABLE };
}

function quotedLoads(target: TableName): string {
  return quoteTable(loadsOf(target));
}
