/** The statements of a load, from the staging table into the table. Pure: texts from names and roles of columns. */
import type { LoadRequest } from '../load-target.js';
import type { Statement } from './connect.js';
import type { FittedColumn } from './fit-table.js';
import { quoteName, RUN_COLUMN } from './names.js';
import type { TableName } from './read-table.js';

const STAGING = 'pg_temp.foliopipe_staging';
/** The column of the staging table that says how a row of a delta has changed. */
const CHANGE = 'change';

type Mode = LoadRequest['mode'];

/** What the statements are made from. */
export interface StatementPlan {
  /** Its name in SQL. */
  readonly table: string;
  readonly mode: Mode;
  readonly columns: readonly FittedColumn[];
  /** Whether the staged rows are those of a delta. Only in mode `merge`. */
  readonly isDelta: boolean;
  /** Whether rows whose key is gone are deleted. Only in mode `merge`. */
  readonly deletesGone: boolean;
  readonly run: string;
}

export function quoteTable({ schema, name }: TableName): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}

/** The staging table goes away with the transaction. All its columns are text. */
export function createStaging({ columns, isDelta }: Pick<StatementPlan, 'columns' | 'isDelta'>): string {
  const names = [...columns.map(({ staged }) => staged), ...(isDelta ? [CHANGE] : [])];
  return `create temp table foliopipe_staging (${names.map((name) => `${name} text`).join(', ')}) on commit drop`;
}

/** An empty cell without quotes becomes null, one with quotes an empty text. */
const FROM_STDIN = "from stdin (format csv, header true, encoding 'UTF8')";

export const copyIntoStaging = `copy ${STAGING} ${FROM_STDIN}`;

/** The columns of the file in their order; the others get their defaults. */
export function copyIntoTable({ table, columns }: Pick<StatementPlan, 'table' | 'columns'>): string {
  return `copy ${table} (${columns.map(({ name }) => quoteName(name)).join(', ')}) ${FROM_STDIN}`;
}

/** Creates the table as foliopipe makes it: texts, and the key or the index that the mode needs. */
export function createTable(table: string, mode: Mode, columns: readonly FittedColumn[]): string[] {
  const lines = columns.map(
    ({ name, role }) => `${quoteName(name)} text${role === 'key' ? ' not null' : ''}`,
  );
  const key = columns.filter(({ role }) => role === 'key').map(({ name }) => quoteName(name));
  if (mode === 'append') lines.push(`${quoteName(RUN_COLUMN)} text`);
  if (mode === 'merge') lines.push(`primary key (${key.join(', ')})`);
  return [
    `create table ${table} (\n  ${lines.join(',\n  ')}\n)`,
    // Finds the rows of a run that is loaded once more.
    ...(mode === 'append' ? [`create index on ${table} (${quoteName(RUN_COLUMN)})`] : []),
  ];
}

/** @param names columns that the table lacks. */
export function addColumns(table: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const added = names.map((name) => `add column ${quoteName(name)} text`).join(', ');
  return [`alter table ${table} ${added}`];
}

/** The statements that delete rows, and the one that writes the staged rows. */
export interface WriteStatements {
  readonly deletes: readonly Statement[];
  readonly write: Statement;
}

export function writeStatements(plan: StatementPlan): WriteStatements {
  switch (plan.mode) {
    case 'append':
      return {
        deletes: [
          {
            text: `delete from ${plan.table} where ${quoteName(RUN_COLUMN)} = $1`,
            values: [plan.run],
          },
        ],
        write: { text: insertText(plan, [quoteName(RUN_COLUMN), '$1::text']), values: [plan.run] },
      };
    case 'replace':
      // Readers see the old rows until the commit, which TRUNCATE would not let them.
      return {
        deletes: [{ text: `delete from ${plan.table}` }],
        write: { text: insertText(plan) },
      };
    case 'merge':
      return {
        deletes: plan.deletesGone ? [{ text: deleteGone(plan) }] : [],
        write: { text: mergeText(plan) },
      };
  }
}

/** @param more one more column and its value. */
function insertText({ table, columns, isDelta }: StatementPlan, more?: readonly [string, string]): string {
  const names = [...columns.map(({ name }) => quoteName(name)), ...(more ? [more[0]] : [])];
  const values = [...columns.map(stagedValue), ...(more ? [more[1]] : [])];
  const where = isDelta ? `\n where s.${CHANGE} <> 'removed'` : '';
  return `insert into ${table} as t (${names.join(', ')})
select ${values.join(', ')}
  from ${STAGING} s${where}`;
}

/** Texts are stored as they are: a cast to varchar(5) would cut them without a word. */
function stagedValue({ staged, cast }: FittedColumn): string {
  return cast === null ? `s.${staged}` : `cast(s.${staged} as ${cast})`;
}

/**
 * Inserts new keys, and updates those of which something has changed. Status and reason always follow. A record without
 * a success keeps its earlier answer and what has paid for it. A change of the lineage alone changes nothing, because
 * otherwise every row that was bought again would be written.
 */
function mergeText(plan: StatementPlan): string {
  const of = (...roles: readonly string[]) =>
    plan.columns.filter(({ role }) => roles.includes(role)).map(({ name }) => quoteName(name));
  const followed = of('source', 'status', 'reason');
  const answered = of('answer', 'lineage');
  const isSuccess = `excluded.${of('status')[0]} = 'SUCCESSFUL'`;
  const sets = [
    ...followed.map((name) => `${name} = excluded.${name}`),
    ...answered.map((name) => `${name} = case when ${isSuccess} then excluded.${name} else t.${name} end`),
  ];
  const differs = (names: readonly string[]) =>
    `(${names.map((name) => `t.${name}`).join(', ')}) is distinct from (${names.map((name) => `excluded.${name}`).join(', ')})`;
  const answers = of('answer');
  const changed = [
    differs(followed),
    ...(answers.length > 0 ? [`(${isSuccess} and ${differs(answers)})`] : []),
  ];
  return `${insertText(plan)}
on conflict (${of('key').join(', ')}) do update set
  ${sets.join(',\n  ')}
where ${changed.join('\n   or ')}`;
}

/** Deletes the rows that the delta calls removed, or those whose key is not among the staged ones. */
function deleteGone({ table, columns, isDelta }: StatementPlan): string {
  const isSame = columns
    .filter(({ role }) => role === 'key')
    .map((column) => `t.${quoteName(column.name)} = ${stagedValue(column)}`)
    .join(' and ');
  return isDelta
    ? `delete from ${table} t using ${STAGING} s where s.${CHANGE} = 'removed' and ${isSame}`
    : `delete from ${table} t where not exists (select 1 from ${STAGING} s where ${isSame})`;
}
