import { describe, expect, it } from 'vitest';
import type { FoundTable, TableColumn } from '../../src/load/database.js';
import { fitTable } from '../../src/load/fit-table.js';
import type { ColumnRole, LoadTable } from '../../src/load/load-target.js';

const roles: readonly (readonly [string, ColumnRole])[] = [
  ['id', 'key'],
  ['Name', 'source'],
  ['status', 'status'],
  ['error', 'reason'],
  ['naics', 'answer'],
  ['paid_by', 'lineage'],
];
const load: LoadTable = {
  pipeline: 'nightly',
  table: 'firms',
  mode: 'replace',
  onSchema: 'fail',
  onRemoved: 'keep',
  columns: roles.map(([name, role]) => ({ name, role })),
};
const column = (name: string, more: Partial<TableColumn> = {}): TableColumn => ({
  name,
  type: 'text',
  isText: true,
  equality: 'text',
  isRequired: false,
  mayBeNull: true,
  isGenerated: false,
  ...more,
});
/** A table with the columns of the output, of which some are changed, and with more columns. */
const tableOf = (changes: Record<string, Partial<TableColumn>>, ...more: TableColumn[]): FoundTable => ({
  columns: [...roles.map(([name]) => column(name.toLowerCase(), changes[name])), ...more],
  isOwner: true,
  isPlain: true,
  fillsRun: false,
  uniqueKeys: [['id']],
});

describe('a table with a column that', () => {
  const notNull = { mayBeNull: false, isRequired: true };

  it.each(['error', 'naics', 'paid_by'])(
    'must have a value, as %s has not in every row, is refused',
    (name) => {
      expect(() => fitTable(load, tableOf({ [name]: notNull }), undefined)).toThrow(
        expect.objectContaining({
          code: 'LOAD_DRIFT',
          message: expect.stringContaining(`"${name}" must have`),
        }),
      );
    },
  );

  it('must have a value, as every row has, is fine', () => {
    const found = tableOf({ id: notNull, Name: notNull, status: notNull });
    expect(fitTable(load, found, undefined).missing).toEqual([]);
  });

  it('only the database fills is refused where the output has it, and else is fine', () => {
    const generated = { isGenerated: true, mayBeNull: false };
    expect(() => fitTable(load, tableOf({ naics: { isGenerated: true } }), undefined)).toThrow(
      expect.objectContaining({ code: 'LOAD_DRIFT', message: expect.stringContaining('only the database') }),
    );
    expect(fitTable(load, tableOf({}, column('number', generated)), undefined).missing).toEqual([]);
  });

  it('has the exact name of one of the output takes it, before one in small letters', () => {
    const { columns } = fitTable(load, tableOf({}, column('Name')), undefined);
    expect(columns.map(({ name }) => name)).toEqual(['id', 'Name', 'status', 'error', 'naics', 'paid_by']);
  });

  it('has another type than text gets a cast, and one of text none', () => {
    const number = { type: 'integer', isText: false, equality: 'type' } as const;
    const { columns } = fitTable(load, tableOf({ naics: number }), undefined);
    expect(columns.map(({ cast }) => cast)).toEqual([null, null, null, null, 'integer', null]);
  });
});

it('a key takes a unique index over exactly its columns, whatever their order', () => {
  const columns = [
    { name: 'b', role: 'key' },
    { name: 'a', role: 'key' },
  ] as const;
  const fitBy = (...unique: string[]) =>
    fitTable(
      { ...load, mode: 'merge', columns },
      { ...tableOf({}, column('a'), column('b')), uniqueKeys: [unique] },
      undefined,
    );
  expect(fitBy('a', 'b').missing).toEqual([]);
  for (const other of [['a'], ['b'], ['a', 'b', 'id']]) {
    expect(() => fitBy(...other)).toThrow(expect.objectContaining({ code: 'LOAD_KEY_NOT_UNIQUE' }));
  }
});
