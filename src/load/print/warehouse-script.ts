/** The script for a warehouse that foliopipe does not connect to: staging, then the table, in one transaction. */
import { quoteText } from '../../sql-text.js';
import { presentTexts } from '../../text.js';
import type { LoadColumn } from '../load-target.js';
import { LOADS_TABLE, RUN_COLUMN } from '../names.js';
import { type Dialect, exactName, type PrintedLoad, STAGING, tableParts } from './dialects.js';

interface Column extends Pick<LoadColumn, 'role'> {
  /** Its name in the table. */
  readonly name: string;
  readonly staged: string;
}

export function warehouseScript(load: PrintedLoad, dialect: Dialect): string[] {
  const { table: settings, file } = load;
  const columns = settings.columns.map(({ name, role }, at) => ({
    role,
    name: dialect.name(name),
    staged: `c${at}`,
  }));
  const staged = columns.map((column) => column.staged);
  return [
    ...dialect.notes,
    '',
    createTable(load, columns, dialect),
    createLoads(load, dialect),
    ...dialect.stage(staged, file),
    '',
    dialect.begin,
    dialect.assertRows(file.records),
    ...writeRows(load, columns, dialect),
    ...recordLoad(load, dialect),
    dialect.commit,
  ];
}

function createTable(
  { table: { table, mode } }: PrintedLoad,
  columns: readonly Column[],
  dialect: Dialect,
): string {
  const names = presentTexts([
    ...columns.map(({ name }) => name),
    mode === 'append' && dialect.name(RUN_COLUMN),
  ]);
  return `create table if not exists ${dialect.table(table)} (\n  ${names.map((name) => `${name} ${dialect.text}`).join(',\n  ')}\n);`;
}

function writeRows(
  { table: { table, mode, onRemoved }, run }: PrintedLoad,
  columns: readonly Column[],
  dialect: Dialect,
): string[] {
  const target = dialect.table(table);
  const names = columns.map(({ name }) => name);
  const values = columns.map((column) => dialect.staged(column.staged));
  const insert = `insert into ${target} (${names.join(', ')})\nselect ${values.join(', ')}\n  from ${STAGING} s`;
  switch (mode) {
    case 'append': {
      const name = dialect.name(RUN_COLUMN);
      return [
        `delete from ${target} where ${name} = '${run}';`,
        `insert into ${target} (${[...names, name].join(', ')})\nselect ${[...values, `'${run}'`].join(', ')}\n  from ${STAGING} s;`,
      ];
    }
    case 'replace':
      return [`delete from ${target} where true;`, `${insert};`];
    case 'merge':
      return presentTexts([
        onRemoved === 'delete' && deleteGone(target, columns, dialect),
        ...(dialect.hasMerge
          ? [mergeText(target, columns, dialect)]
          : updateAndInsert(target, columns, insert, dialect)),
      ]);
  }
}

const keysOf = (columns: readonly Column[]) => columns.filter(({ role }) => role === 'key');

function deleteGone(target: string, columns: readonly Column[], { tuple, staged }: Dialect): string {
  const keys = keysOf(columns);
  const names = keys.map(({ name }) => name);
  const left = names.length === 1 ? names[0] : `(${names.join(', ')})`;
  return `delete from ${target} where ${left} not in (select ${tuple(keys.map((key) => staged(key.staged)))} from ${STAGING} s);`;
}

/** A row without a success keeps its earlier answer. A row is not updated if only its lineage differs. */
function changesOf(columns: readonly Column[], { differ, staged }: Dialect) {
  const status = columns.find(({ role }) => role === 'status')!;
  const isSuccess = `s.${status.staged} = 'SUCCESSFUL'`;
  const isFollowed = ({ role }: Column) => role === 'source' || role === 'status' || role === 'reason';
  const differs = (column: Column) => differ(`t.${column.name}`, staged(column.staged));
  const followed = columns.filter(isFollowed);
  const answered = columns.filter(({ role }) => role === 'answer' || role === 'lineage');
  const answers = columns.filter(({ role }) => role === 'answer');
  const sets = [
    ...followed.map((column) => `${column.name} = ${staged(column.staged)}`),
    ...answered.map(
      (column) =>
        `${column.name} = case when ${isSuccess} then ${staged(column.staged)} else t.${column.name} end`,
    ),
  ];
  const changed = presentTexts([
    ...followed.map(differs),
    answers.length !== 0 && `${isSuccess} and (${answers.map(differs).join(' or ')})`,
  ]);
  return { sets: sets.join(',\n  '), changed: changed.join('\n   or ') };
}

function onKey(columns: readonly Column[], { staged }: Dialect): string {
  return keysOf(columns)
    .map((key) => `t.${key.name} = ${staged(key.staged)}`)
    .join(' and ');
}

function mergeText(target: string, columns: readonly Column[], dialect: Dialect): string {
  const { sets, changed } = changesOf(columns, dialect);
  return `merge into ${target} t using ${STAGING} s on ${onKey(columns, dialect)}
when matched and (${changed}) then update set
  ${sets}
when not matched then insert (${columns.map(({ name }) => name).join(', ')})
values (${columns.map((column) => dialect.staged(column.staged)).join(', ')});`;
}

function updateAndInsert(
  target: string,
  columns: readonly Column[],
  insert: string,
  dialect: Dialect,
): string[] {
  const { sets, changed } = changesOf(columns, dialect);
  return [
    `update ${target} t set\n  ${sets}\n  from ${STAGING} s\n where ${onKey(columns, dialect)} and (${changed});`,
    `${insert}\n where not exists (select 1 from ${target} t where ${onKey(columns, dialect)});`,
  ];
}

const LOADS_COLUMNS = ['target', 'pipeline', 'publication', 'run', 'sha256', 'records'];

function loadsOf(
  { table }: PrintedLoad,
  dialect: Dialect,
): { readonly loads: string; readonly target: string } {
  const [target, ...schema] = tableParts(table.table);
  return { loads: dialect.table([...schema.reverse(), LOADS_TABLE].join('.')), target: exactName(target!) };
}

function createLoads(load: PrintedLoad, dialect: Dialect): string {
  const typed = LOADS_COLUMNS.map(
    (name) =>
      `${dialect.name(name)} ${name === 'publication' || name === 'records' ? 'bigint' : dialect.text}`,
  );
  return `create table if not exists ${loadsOf(load, dialect).loads} (${typed.join(', ')});`;
}

function recordLoad(load: PrintedLoad, dialect: Dialect): string[] {
  const { loads, target } = loadsOf(load, dialect);
  const { table, publication, run, sha256, file } = load;
  const name = dialect.name;
  return [
    `delete from ${loads} where ${name('target')} = ${quoteText(target)} and ${name('pipeline')} = ${quoteText(table.pipeline)} and ${name('publication')} = ${publication};`,
    `insert into ${loads} (${LOADS_COLUMNS.map(name).join(', ')})
values (${quoteText(target)}, ${quoteText(table.pipeline)}, ${publication}, ${quoteText(run)}, ${quoteText(sha256)}, ${file.records});`,
  ];
}
