/** The statements of a load, from the staging table into the table. Pure: texts from names and roles of columns. */
import { quoteName } from '../sql-text.js';
import type { CopyTarget, SqlDialect, Statement, TableName } from './database.js';
import { type FittedColumn, keyColumns } from './fit-table.js';
import type { LoadRequest } from './load-target.js';
import { RUN_COLUMN } from './names.js';

/** The column of the staging table that says how a row of a delta has changed. */
const CHANGE = 'change';

type Mode = LoadRequest['mode'];

/** What the statements are made from. */
export interface StatementPlan {
  readonly dialect: Pick<SqlDialect, 'staging' | 'createStaging'>;
  /** Its name in SQL. */
  readonly table: string;
  readonly mode: Mode;
  readonly columns: readonly FittedColumn[];
  /** Whether the staged rows are those of a delta. Only in mode `merge`. */
  readonly isDelta: boolean;
  /** Whether rows whose key is gone are deleted. Only in mode `merge`. */
  readonly deletesGone: boolean;
  readonly run: string;
  /** See `FoundTable`. */
  readonly isPlain: boolean;
}

export function quoteTable({ database, schema, name }: TableName): string {
  return [...(database === undefined ? [] : [database]), schema, name].map(quoteName).join('.');
}

type StagingPlan = Pick<StatementPlan, 'dialect' | 'columns' | 'isDelta'>;

/** All columns of the staging table are text. */
export function createStaging({ dialect, ...plan }: StagingPlan): string {
  return dialect.createStaging(
    stagedNames(plan)
      .map((name) => `${name} text`)
      .join(', '),
  );
}

/** The staging table as the target of a copy. */
export function stagingTarget({ dialect, ...plan }: StagingPlan): CopyTarget {
  const columns = stagedNames(plan).map((name) => ({ name, cast: null }));
  return { table: dialect.staging, columns, run: null };
}

function stagedNames({ columns, isDelta }: Pick<StagingPlan, 'columns' | 'isDelta'>): readonly string[] {
  return [...columns.map(({ staged }) => staged), ...(isDelta ? [CHANGE] : [])];
}

/** The table itself as the target of a copy, without a staging table. */
export function tableTarget({ table, mode, columns, run }: StatementPlan): CopyTarget {
  return { table, columns, run: mode === 'append' ? run : null };
}

type TableDialect = Pick<SqlDialect, 'runDefault' | 'hasRunIndex'>;

/** The statements that create the table: columns of texts, and the key or the index that the mode needs. */
export function createTable(
  { runDefault, hasRunIndex }: TableDialect,
  table: string,
  mode: Mode,
  columns: readonly FittedColumn[],
): string[] {
  const lines = columns.map(({ name }) => `${quoteName(name)} text`);
  const key = keyColumns(columns).map(({ name }) => quoteName(name));
  const run = quoteName(RUN_COLUMN);
  if (mode === 'append') lines.push(`${run} text${runDefault === null ? '' : ` default ${runDefault}`}`);
  if (mode === 'merge') lines.push(`primary key (${key.join(', ')})`);
  return [
    `create table ${table} (\n  ${lines.join(',\n  ')}\n)`,
    // Finds the rows of a run that is loaded again. They lie side by side, so a BRIN index is enough.
    ...(mode === 'append' && hasRunIndex
      ? [`create index on ${table} using brin (${run}) with (autosummarize = on)`]
      : []),
  ];
}

/** @param names columns that the table lacks. Existing rows get no default. */
export function addColumns({ runDefault }: TableDialect, table: string, names: readonly string[]): string[] {
  return names.flatMap((name) => [
    `alter table ${table} add column ${quoteName(name)} text`,
    ...(name === RUN_COLUMN && runDefault !== null
      ? [`alter table ${table} alter column ${quoteName(name)} set default ${runDefault}`]
      : []),
  ]);
}

/** The statements that delete rows, and the one that writes the staged rows. */
interface WriteStatements {
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
      // With DELETE, readers see the old rows until the commit. TRUNCATE would block them.
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
function insertText(
  { dialect, table, columns, isDelta }: StatementPlan,
  more?: readonly [string, string],
): string {
  const names = [...columns.map(({ name }) => quoteName(name)), ...(more ? [more[0]] : [])];
  const values = [...columns.map(stagedValue), ...(more ? [more[1]] : [])];
  const where = isDelta ? `\n where s.${CHANGE} <> 'removed'` : '';
  return `insert into ${table} as t (${names.join(', ')})
select ${values.join(', ')}
  from ${dialect.staging} s${where}`;
}

/** Texts are stored without a cast: a cast to varchar(5) would cut them without an error. */
function stagedValue({ staged, cast }: FittedColumn): string {
  return cast === null ? `s.${staged}` : `cast(s.${staged} as ${cast})`;
}

/**
 * Inserts rows with new keys, and updates rows that have changed. Status and reason always follow. A record without a
 * success keeps its earlier answer and the lineage of that answer. A row is not updated if only its lineage differs,
 * because otherwise every row that was bought again would be written. Unchanged rows of a whole output are left out first:
 * the database would lock, and so write, each of them.
 */
function mergeText(plan: StatementPlan): string {
  const { table, columns, isDelta } = plan;
  const inTable = ({ name }: FittedColumn) => quoteName(name);
  const withRole = (...roles: readonly string[]) => columns.filter(({ role }) => roles.includes(role));
  const excluded = (column: FittedColumn) => `excluded.${inTable(column)}`;
  const followed = withRole('source', 'status', 'reason');
  const answered = withRole('answer', 'lineage');
  const isSuccess = (value: typeof excluded) => `${value(withRole('status')[0]!)} = 'SUCCESSFUL'`;
  const sets = [
    ...followed.map((column) => `${inTable(column)} = ${excluded(column)}`),
    ...answered.map(
      (column) =>
        `${inTable(column)} = case when ${isSuccess(excluded)} then ${excluded(column)} else t.${inTable(column)} end`,
    ),
  ];
  /** @param value the new value of a column. */
  const changed = (value: typeof excluded) => {
    const differ = (which: readonly FittedColumn[]) =>
      `(${which.map((column) => `t.${inTable(column)}`).join(', ')}) is distinct from (${which.map(value).join(', ')})`;
    const answers = withRole('answer');
    return [
      differ(followed),
      ...(answers.length > 0 ? [`(${isSuccess(value)} and ${differ(answers)})`] : []),
    ].join('\n   or ');
  };
  const key = withRole('key');
  const onlyNews = `\n where not exists (select 1 from ${table} t where ${isSameKey(columns)} and not (${changed(stagedValue)}))`;
  return `${insertText(plan)}${isDelta ? '' : onlyNews}
on conflict (${key.map(inTable).join(', ')}) do update set
  ${sets.join(',\n  ')}
where ${changed(excluded)}`;
}

/**
 * Finds a staged key that is not in the table with the same text: the table treats it as another key, or has left the row
 * out. Undefined if that is impossible. To be run after the rows are written.
 */
export function findUnfitKey(plan: StatementPlan): string | undefined {
  const { dialect, table, mode, columns, isDelta, isPlain } = plan;
  const key = keyColumns(columns);
  if (mode !== 'merge' || (isPlain && !key.some(({ mayAlias }) => mayAlias))) return undefined;
  const isStored = key.flatMap((column) => [
    `t.${quoteName(column.name)} = ${stagedValue(column)}`,
    ...(column.mayAlias ? [`cast(t.${quoteName(column.name)} as text) = s.${column.staged}`] : []),
  ]);
  return `select ${key.map(({ staged }) => `s.${staged}`).join(', ')}
  from ${dialect.staging} s
 where ${isDelta ? `s.${CHANGE} <> 'removed' and ` : ''}not exists (select 1 from ${table} t where ${isStored.join(' and ')})
 limit 1`;
}

/**
 * Finds a key that the delta marks as removed, and whose row the table has kept. Undefined if that is impossible. To be
 * run after the rows are deleted.
 */
export function findKeptKey(plan: StatementPlan): string | undefined {
  const { dialect, table, columns, isDelta, deletesGone, isPlain } = plan;
  if (isPlain || !isDelta || !deletesGone) return undefined;
  const staged = keyColumns(columns).map((column) => `s.${column.staged}`);
  return `select ${staged.join(', ')}
  from ${dialect.staging} s
 where s.${CHANGE} = 'removed' and exists (select 1 from ${table} t where ${isSameKey(columns)})
 limit 1`;
}

/** The condition that a row of the table has the key of a staged one. */
function isSameKey(columns: readonly FittedColumn[]): string {
  return keyColumns(columns)
    .map((column) => `t.${quoteName(column.name)} = ${stagedValue(column)}`)
    .join(' and ');
}

/**
 * Counts, as `n`, the rows that must be as many as the staged ones after these are written. Undefined if they always are,
 * or if the table may have more.
 */
export function countStored(plan: StatementPlan): Statement | undefined {
  const { table, mode, isDelta, deletesGone, isPlain, run } = plan;
  if (isPlain || isDelta || (mode === 'merge' && !deletesGone)) return undefined;
  const text = `select count(*) as n from ${table}`;
  return mode === 'append'
    ? { text: `${text} where ${quoteName(RUN_COLUMN)} = $1`, values: [run] }
    : { text };
}

/** Deletes the rows that the delta marks as removed, or those whose key is not among the staged ones. */
function deleteGone({ dialect, table, columns, isDelta }: StatementPlan): string {
  const isSame = isSameKey(columns);
  return isDelta
    ? `delete from ${table} t using ${dialect.staging} s where s.${CHANGE} = 'removed' and ${isSame}`
    : `delete from ${table} t where not exists (select 1 from ${dialect.staging} s where ${isSame})`;
}
