/** What every database that publications are loaded into promises. */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import type {
  ColumnRole,
  LoadColumn,
  LoadDelta,
  LoadFile,
  LoadRequest,
  LoadTarget,
} from '../../src/load/load-target.js';

/** A database of its own. */
export interface Warehouse {
  readonly target: LoadTarget;
  /** Runs a statement beside the target. Numbers are texts or numbers. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
}

type Cells = readonly (string | null)[];

const columns: readonly LoadColumn[] = [
  ['id', 'key'],
  ['name', 'source'],
  ['status', 'status'],
  ['code', 'reason'],
  ['error', 'reason'],
  ['naics', 'answer'],
  ['paid_by', 'lineage'],
].map(([name, role]) => ({ name: name!, role: role as ColumnRole }));
const withoutKey = columns.map(
  ({ name, role }) => ({ name, role: role === 'key' ? 'source' : role }) as const,
);

const good = (id: string, name: string, naics: string, paidBy = 'r1'): Cells => [
  id,
  name,
  'SUCCESSFUL',
  null,
  null,
  naics,
  paidBy,
];
const failed = (id: string, name: string): Cells => [
  id,
  name,
  'FAILED',
  'SERVICE_FAILED',
  'too dark',
  null,
  null,
];

const first = [good('01001', 'Ann', '11'), good('01002', 'Bob', '12'), good('01003', 'Cid', '13')];
/** 01001 is gone, 01002 has another name, 01004 is new. */
const second = [
  good('01002', 'Bo', '12'),
  good('01003', 'Cid', '13', 'r2'),
  good('01004', 'Dan', '14', 'r2'),
];

function fileOf(header: readonly string[], rows: readonly Cells[]): LoadFile {
  const content = Buffer.from(
    stringify([header, ...rows], { quoted_match: /^$|[\\"\r\n,]/, cast: { string: (v) => v } }),
  );
  return {
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    records: rows.length,
    open: async function* () {
      yield content.subarray(0, 20);
      yield content.subarray(20);
    },
  };
}

/** A file that must not be read. */
const unread = (file: LoadFile): LoadFile => ({
  ...file,
  open: () => {
    throw new Error('this file must not be read');
  },
});

function publication(number: number, rows: readonly Cells[], more: Partial<LoadRequest> = {}): LoadRequest {
  const { mode = 'replace', columns: own = mode === 'merge' ? columns : withoutKey } = more;
  return {
    pipeline: 'nightly',
    table: 'businesses',
    mode,
    onSchema: 'add',
    onRemoved: 'keep',
    columns: own,
    run: `run-${number}`,
    publication: number,
    file: fileOf(
      own.map(({ name }) => name),
      rows,
    ),
    delta: null,
    ...more,
  };
}

function deltaOf(base: LoadRequest, rows: readonly (readonly [...Cells, string])[]): LoadDelta {
  const file = fileOf([...base.columns.map(({ name }) => name), 'change'], rows);
  return { ...file, base: { publication: base.publication, sha256: base.file.sha256 } };
}

const options = { signal: new AbortController().signal, at: () => undefined };

export function loadTargetContract(name: string, open: () => Promise<Warehouse>): void {
  const withWarehouse = (
    use: (
      warehouse: Warehouse & {
        load(request: LoadRequest): ReturnType<LoadTarget['load']>;
        /** The rows by id, as lists of cells. */
        cells(select?: string): Promise<Cells[]>;
        /** That the load is refused, and that it has changed nothing. */
        refuses(request: LoadRequest, code: string, exitCode: number): Promise<Error>;
      },
    ) => Promise<void>,
  ) => {
    return async () => {
      const warehouse = await open();
      const cells = async (select = '*') =>
        (await warehouse.query(`select ${select} from businesses order by id, paid_by`)).map(
          (row) => Object.values(row) as Cells,
        );
      const everything = () =>
        Promise.all(
          ['businesses', 'foliopipe_loads'].map((table) =>
            warehouse.query(`select * from ${table} order by 1, 2, 3`).catch(() => `no ${table}`),
          ),
        );
      await use({
        ...warehouse,
        load: (request) => warehouse.target.load(request, options),
        cells,
        refuses: async (request, code, exitCode) => {
          const before = await everything();
          const error = await warehouse.target.load(request, options).catch((reason: Error) => reason);
          expect(error).toMatchObject({ code, exitCode, hint: expect.stringMatching(/./) });
          expect(await everything()).toEqual(before);
          return error as Error;
        },
      });
    };
  };

  describe(`a target of loads: ${name}`, () => {
    it(
      'keeps every cell as it is',
      withWarehouse(async ({ load, cells }) => {
        const odd = [
          'a "b", c',
          'line\r\nbreak\nand',
          '\\.',
          'back\\slash',
          "it's $1 \u2028",
          '',
          null,
          'Müller 🏢',
        ];
        await load(
          publication(
            1,
            odd.map((text, at) => good(`0${at}`, text as string, '1')),
          ),
        );
        expect((await cells('name')).flat()).toEqual(odd);
      }),
    );

    it(
      'append: keeps the rows of every run, and takes those of the same run once',
      withWarehouse(async ({ load, cells, query }) => {
        const mode = 'append';
        expect(await load(publication(1, first, { mode }))).toEqual({
          already: false,
          base: null,
          written: 3,
          removed: 0,
          added: [],
        });
        await load(publication(2, second, { mode }));
        const again = await load(publication(3, first, { mode, run: 'run-1' }));
        expect(again).toMatchObject({ already: false, written: 3, removed: 3 });
        const both = [first[0], first[1], second[0], first[2], second[1], second[2]];
        expect((await cells('id, name, status, code, error, naics, paid_by')).map(String).sort()).toEqual(
          both.map(String).sort(),
        );
        const runs = await query(
          'select foliopipe_run as run, cast(count(*) as text) as n from businesses group by 1 order by 1',
        );
        expect(runs).toEqual([
          { run: 'run-1', n: '3' },
          { run: 'run-2', n: '3' },
        ]);
        // Another pipeline may append too, under a number that this one has had.
        expect(
          await load(publication(1, second.slice(1), { mode, pipeline: 'weekly', run: 'weekly-1' })),
        ).toMatchObject({ written: 2 });
        const written = await query(
          'select cast(written as text) as n from foliopipe_loads where publication = 1 order by pipeline',
        );
        expect(written).toEqual([{ n: '3' }, { n: '2' }]);
      }),
    );

    it(
      'append: fills a table that somebody else has made',
      withWarehouse(async ({ load, query }) => {
        const names = columns.map((column) => `${column.name} varchar(20)`).join(', ');
        await query(`create table businesses (${names}, seen integer not null default 7)`);
        await query("insert into businesses (id) values ('old')");
        const { added } = await load(publication(1, first, { mode: 'append' }));
        expect(added).toEqual(['foliopipe_run']);
        await load(publication(2, second, { mode: 'append' }));
        const rows = await query('select id, seen, foliopipe_run as run from businesses order by run, id');
        expect(rows.map(({ seen }) => Number(seen))).toEqual(Array(7).fill(7));
        expect(new Set(rows.map(({ run }) => run))).toEqual(new Set(['run-1', 'run-2', null]));
        // One with the column of the run, but without its default.
        await query(`create table runs (${names}, foliopipe_run varchar(20) not null)`);
        const own = publication(1, first, { mode: 'append', table: 'runs' });
        expect(await load(own)).toMatchObject({ written: 3, removed: 0, added: [] });
        expect(await load({ ...own, publication: 2 })).toMatchObject({ written: 3, removed: 3 });
        expect(await query('select distinct foliopipe_run as run from runs')).toEqual([{ run: 'run-1' }]);
      }),
    );

    it(
      'replace: holds the last publication: A, B, A',
      withWarehouse(async ({ load, cells, query }) => {
        const a = publication(1, first);
        expect(await load(a)).toMatchObject({ written: 3, removed: 0 });
        expect(await load(publication(2, second))).toMatchObject({ written: 3, removed: 3 });
        expect(await cells()).toEqual(second);
        expect(await load({ ...a, publication: 3 })).toMatchObject({
          already: false,
          written: 3,
          removed: 3,
        });
        expect(await cells()).toEqual(first);
        const loads = await query(
          'select target, pipeline, run, sha256, mode, on_removed, base, cast(publication as text) as number, cast(records as text) as records, cast(written as text) as written, cast(removed as text) as removed from foliopipe_loads where loaded_at is not null order by publication',
        );
        const same = {
          target: 'businesses',
          pipeline: 'nightly',
          mode: 'replace',
          on_removed: 'keep',
          base: null,
          records: '3',
          written: '3',
        };
        expect(loads).toEqual([
          { ...same, number: '1', run: 'run-1', sha256: a.file.sha256, removed: '0' },
          { ...same, number: '2', run: 'run-2', sha256: publication(2, second).file.sha256, removed: '3' },
          { ...same, number: '3', run: 'run-1', sha256: a.file.sha256, removed: '3' },
        ]);
      }),
    );

    it.each(['keep', 'delete'] as const)('merge: goes by the key; onRemoved: %s', (onRemoved) =>
      withWarehouse(async ({ load, cells }) => {
        const more = { mode: 'merge', onRemoved } as const;
        const a = publication(1, first, more);
        expect(await load(a)).toMatchObject({ written: 3, removed: 0 });
        // What has paid for 01003 is new, and that alone is no change.
        const b = await load(publication(2, second, more));
        expect(b).toMatchObject({ base: null, written: 2, removed: onRemoved === 'delete' ? 1 : 0 });
        expect(await cells()).toEqual([
          ...(onRemoved === 'keep' ? [first[0]] : []),
          second[0],
          first[2],
          second[2],
        ]);
        expect(await load({ ...a, publication: 3 })).toMatchObject({ already: false });
        expect(await cells()).toEqual([...first, ...(onRemoved === 'keep' ? [second[2]] : [])]);
        expect(await load(publication(4, first, more))).toMatchObject({ written: 0 });
      })(),
    );

    it(
      'merge: never overwrites a prediction by a failure',
      withWarehouse(async ({ load, cells }) => {
        const mode = 'merge';
        await load(publication(1, first, { mode }));
        const unprocessed: Cells = ['01002', 'Bob', 'UNPROCESSED', 'FOLIO_LOST', 'gone', null, null];
        const rows = [failed('01001', 'Anna'), unprocessed, first[2]!, failed('01009', 'New')];
        expect(await load(publication(2, rows, { mode }))).toMatchObject({ written: 3 });
        expect(await cells()).toEqual([
          ['01001', 'Anna', 'FAILED', 'SERVICE_FAILED', 'too dark', '11', 'r1'],
          ['01002', 'Bob', 'UNPROCESSED', 'FOLIO_LOST', 'gone', '12', 'r1'],
          first[2],
          rows[3],
        ]);
        // What is without an answer again, and has one in the table, has not changed.
        const better = [good('01001', 'Anna', '99', 'r3'), unprocessed, first[2]!];
        expect(await load(publication(3, better, { mode }))).toMatchObject({ written: 1 });
        const kept = [...unprocessed.slice(0, 5), '12', 'r1'];
        expect(await cells()).toEqual([better[0], kept, first[2], rows[3]]);
      }),
    );

    it(
      'merge: takes the delta if the last load is its base, else the whole file',
      withWarehouse(async ({ load, cells }) => {
        const more = { mode: 'merge', onRemoved: 'delete' } as const;
        const a = publication(1, first, more);
        await load(a);
        const changes = [
          [...second[0]!, 'changed'],
          [...second[2]!, 'added'],
          [...first[0]!, 'removed'],
        ] as const;
        const whole = publication(2, second, more);
        const b = { ...whole, file: unread(whole.file), delta: deltaOf(a, changes as never) };
        expect(await load(b)).toEqual({ already: false, base: 1, written: 2, removed: 1, added: [] });
        const merged = [second[0], first[2], second[2]];
        expect(await cells()).toEqual(merged);
        expect(await load(b)).toMatchObject({ already: true });
        // Its base is another publication than the last one.
        const third = publication(3, first, more);
        const delta = { ...deltaOf(a, []), ...unread(a.file) };
        expect(await load({ ...third, delta })).toMatchObject({ base: null, written: 2, removed: 1 });
        expect(await cells()).toEqual(first);
      }),
    );

    it(
      'merge: refuses keys that are one for the table, and keeps integers that are not',
      withWarehouse(async ({ target, load, refuses, cells, query }) => {
        const create = (table: string, key: string) =>
          query(
            `create table ${table} (${key}, ${columns
              .slice(1)
              .map((column) => `${column.name} varchar(20)`)
              .join(', ')})`,
          );
        await create('businesses', 'id integer unique');
        const more = { mode: 'merge', onRemoved: 'delete' } as const;
        const rows = [good('1', 'Ann', '11'), good('2', 'Bob', '12')];
        const a = publication(1, rows, more);
        expect(await load(a)).toMatchObject({ written: 2 });
        const alias = good('01', 'Cid', '13');
        const b = publication(2, [...rows, alias], more);
        expect((await refuses(b, 'LOAD_KEY_UNFIT', 2)).message).toContain('"id"');
        const { message } = await refuses(
          { ...b, delta: deltaOf(a, [[...alias, 'added']] as never) },
          'LOAD_KEY_UNFIT',
          2,
        );
        expect(message).toContain('"01" of "id"');
        const twins = publication(2, [good('3', 'Cid', '13'), good('03', 'Dan', '14')], more);
        expect((await refuses(twins, 'LOAD_KEY_UNFIT', 2)).message).toContain('"id"');
        const changes = [
          [...good('1', 'Anna', '11'), 'changed'],
          [...good('3', 'Cid', '13'), 'added'],
          [...rows[1]!, 'removed'],
        ];
        const c = publication(2, [good('1', 'Anna', '11'), good('3', 'Cid', '13')], more);
        expect(await load({ ...c, delta: deltaOf(a, changes as never) })).toMatchObject({
          base: 1,
          written: 2,
          removed: 1,
        });
        expect(await cells('name')).toEqual([['Anna'], ['Cid']]);
        const loose = name === 'DuckDB' ? 'nocase' : 'loose';
        if (name === 'Postgres') {
          await query(
            "create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
          );
        }
        await create('folded', `id varchar collate ${loose} primary key`);
        const request = publication(1, rows, { ...more, table: 'folded' });
        const refused = { code: 'LOAD_KEY_UNFIT', exitCode: 2 };
        await expect(target.check(request, options.signal)).rejects.toMatchObject(refused);
        await refuses(request, 'LOAD_KEY_UNFIT', 2);
      }),
    );

    it(
      'merge: goes by a key of several columns, whole and by the delta, whatever their names and order',
      withWarehouse(async ({ load, cells, query }) => {
        const names = columns.map((column) => `${column.name} varchar(20)`).join(', ');
        await query(`create table businesses (${names}, unique (name, id))`);
        await query("insert into businesses (id, name) values ('1', 'x'), ('1', 'z'), ('2', 'x')");
        const keyed = columns.map(
          ({ name, role }) => ({ name, role: name === 'name' ? 'key' : role }) as const,
        );
        const more = { mode: 'merge', onRemoved: 'delete', columns: keyed } as const;
        const base = publication(1, [good('1', 'x', '11'), good('1', 'y', '12'), good('2', 'x', '13')], more);
        expect(await load(base)).toMatchObject({ written: 3, removed: 1 });
        const rows = [good('1', 'x', '19'), good('2', 'x', '13'), good('2', 'y', '14')];
        const changes = [
          [...rows[0]!, 'changed'],
          [...rows[2]!, 'added'],
          [...good('1', 'y', '12'), 'removed'],
        ];
        const next = { ...publication(2, rows, more), delta: deltaOf(base, changes as never) };
        expect(await load(next)).toMatchObject({ base: 1, written: 2, removed: 1 });
        expect((await cells()).map(String).sort()).toEqual(rows.map(String));
      }),
    );

    it(
      'merge: takes the whole file where the table has lost a column, rows or itself',
      withWarehouse(async ({ load, cells, query }) => {
        const more = { mode: 'merge', onRemoved: 'delete' } as const;
        const a = publication(1, first, more);
        await load(a);
        await query('alter table businesses drop column paid_by');
        const rows = [good('01001', 'Anna', '11', 'r2'), first[1]!, first[2]!];
        const next = publication(2, rows, more);
        const b = { ...next, delta: deltaOf(a, [[...rows[0]!, 'changed']] as never) };
        expect(await load(b)).toMatchObject({ base: null, written: 3, added: ['paid_by'] });
        expect((await cells('paid_by')).flat().sort()).toEqual(['r1', 'r1', 'r2']);
        await query('alter table businesses drop column name');
        const c = { ...publication(3, first, more), delta: deltaOf(b, [[...first[0]!, 'changed']] as never) };
        expect(await load(c)).toMatchObject({ base: null, written: 3, added: ['name'] });
        expect((await cells('name')).flat()).toEqual(['Ann', 'Bob', 'Cid']);

        await query("delete from businesses where id <> '01001'");
        await query("insert into businesses (id) values ('other'), ('another'), ('third')");
        const d = { ...publication(4, rows, more), delta: deltaOf(c, [[...rows[0]!, 'changed']] as never) };
        expect(await load(d)).toMatchObject({ base: null, written: 3, removed: 3 });
        expect((await cells('id, name')).map(([, text]) => text)).toEqual(['Anna', 'Bob', 'Cid']);
        expect(await query('select base from foliopipe_loads where base is not null')).toEqual([]);

        await query('drop table businesses');
        expect(await load(d)).toMatchObject({ already: false, base: null, written: 3 });
        expect(await cells()).toEqual(rows);
        await query('drop table businesses');
        const e = { ...publication(5, first, more), delta: deltaOf(d, [[...first[0]!, 'changed']] as never) };
        expect(await load(e)).toMatchObject({ base: null, written: 3 });
        expect(await cells()).toEqual(first);
      }),
    );

    it.each(['append', 'replace', 'merge'] as const)(
      '%s: the same publication again changes nothing',
      (mode) =>
        withWarehouse(async ({ load, cells }) => {
          const a = publication(1, first, { mode });
          await load(a);
          const before = await cells();
          const again = { ...a, file: unread(a.file) };
          const nothing = { already: true, base: null, written: 0, removed: 0, added: [] };
          expect(await load(again)).toEqual(nothing);
          expect(await cells()).toEqual(before);
        })(),
    );

    it(
      'refuses an older publication after a newer one, and another one under the same number',
      withWarehouse(async ({ load, refuses }) => {
        await load(publication(2, second));
        await refuses(publication(1, first), 'LOAD_OLDER', 2);
        await refuses(publication(2, first), 'LOAD_CONFLICT', 2);
        await refuses(publication(2, second, { run: 'another' }), 'LOAD_CONFLICT', 2);
      }),
    );

    it(
      'refuses to delete rows of another pipeline, and nothing else because of that one',
      withWarehouse(async ({ load, refuses, cells }) => {
        const mode = 'merge';
        const weekly = { pipeline: 'weekly', mode, onRemoved: 'delete' } as const;
        await load(publication(1, first, { mode }));
        await refuses(publication(1, second, { ...weekly, mode: 'replace' }), 'LOAD_TABLE_SHARED', 2);
        await refuses(publication(1, second, weekly), 'LOAD_TABLE_SHARED', 2);
        expect(await load(publication(1, second, { ...weekly, table: 'other' }))).toMatchObject({
          written: 3,
        });
        const beside = publication(1, second, { ...weekly, onRemoved: 'keep' });
        expect(await load(beside)).toMatchObject({ already: false, written: 2, removed: 0 });
        expect((await cells('id')).flat()).toEqual(['01001', '01002', '01003', '01004']);
      }),
    );

    it(
      'onSchema: fail: refuses a missing table, a column that the table lacks, and one that the output no longer has',
      withWarehouse(async ({ target, load, refuses, query }) => {
        const onSchema = 'fail';
        const checks = (request: LoadRequest, code: string) =>
          expect(target.check(request, options.signal)).rejects.toMatchObject({ code, exitCode: 2 });
        await checks(publication(1, first, { onSchema }), 'LOAD_TABLE_MISSING');
        await refuses(publication(1, first, { onSchema }), 'LOAD_TABLE_MISSING', 2);
        await load(publication(1, first));
        const wider = [...withoutKey, { name: 'region', role: 'answer' as const }];
        const rows = first.map((row) => [...row, 'west']);
        const more = publication(2, rows, { onSchema, columns: wider });
        await checks(more, 'LOAD_DRIFT');
        expect((await refuses(more, 'LOAD_DRIFT', 2)).message).toContain('it lacks "region"');
        const fewer = publication(
          2,
          first.map((row) => row.slice(0, 6)),
          { onSchema, columns: withoutKey.slice(0, 6) },
        );
        await checks(fewer, 'LOAD_DRIFT');
        expect((await refuses(fewer, 'LOAD_DRIFT', 2)).message).toContain(
          '"paid_by" came with the last load',
        );
        // Before an answer of the service is known, its columns are not gone. Those of the source are looked at later.
        const unanswered = withoutKey.filter(({ role }) => role !== 'answer');
        await target.check(publication(2, first, { onSchema, columns: unanswered }), options.signal);
        await query('alter table businesses add column region varchar(9)');
        expect(await load(more)).toMatchObject({ written: 3, added: [] });
        // What the hint says: a column that is gone from both is no difference.
        await query('alter table businesses drop column paid_by');
        await query('alter table businesses drop column region');
        const narrow = { ...fewer, publication: 3 };
        await target.check(narrow, options.signal);
        expect(await load(narrow)).toMatchObject({ written: 3, added: [] });
      }),
    );

    it(
      'onSchema: add: creates and adds what is missing, and leaves what is gone; checking it changes nothing',
      withWarehouse(async ({ target, load, cells, query }) => {
        const a = publication(1, first, { mode: 'merge' });
        const tables =
          "select count(*) as n from information_schema.tables where table_name in ('businesses', 'foliopipe_loads')";
        await target.check(a, options.signal);
        expect(Number((await query(tables))[0]!.n)).toBe(0);
        await load(a);
        const wider = [...columns.slice(0, 6), { name: 'Region "x"; --', role: 'answer' as const }];
        const b = publication(
          2,
          first.map((row) => [...row.slice(0, 6), 'west']),
          { mode: 'merge', columns: wider },
        );
        await target.check(b, options.signal);
        expect(await cells('*')).toEqual(first);
        expect(await load(b)).toMatchObject({ written: 3, added: ['region "x"; --'] });
        expect(await cells('id, paid_by, "region ""x""; --"')).toEqual(
          first.map(([id]) => [id, 'r1', 'west']),
        );
      }),
    );

    it(
      'refuses a table that cannot take the output: no unique key, a column that nothing fills, a view',
      withWarehouse(async ({ target, refuses, query }) => {
        const refused = async (request: LoadRequest, code: string) => {
          await expect(target.check(request, options.signal)).rejects.toMatchObject({ code, exitCode: 2 });
          await refuses(request, code, 2);
        };
        const names = columns.map((column) => `${column.name} varchar(20)`).join(', ');
        await query(`create table businesses (${names}, check (id is not null))`);
        await query('alter table businesses alter column id set not null');
        await query('create index businesses_id on businesses (id)');
        await refused(publication(1, first, { mode: 'merge' }), 'LOAD_KEY_NOT_UNIQUE');
        await query('create unique index businesses_key on businesses (id)');
        await target.check(publication(1, first, { mode: 'merge' }), options.signal);
        await query(`create table strict (${names}, other integer not null)`);
        await refused(publication(1, first, { table: 'strict' }), 'LOAD_DRIFT');
        await query('create view seen as select 1 as id');
        await refused(publication(1, first, { table: 'seen' }), 'LOAD_NOT_A_TABLE');
        await refused(publication(1, first, { table: 'a;drop table b' }), 'LOAD_TABLE_NAME');
        await refused(publication(1, first, { table: '"Foliopipe_loads"' }), 'LOAD_TABLE_NAME');
      }),
    );

    it(
      'refuses a schema that is missing, with the statement that creates it',
      withWarehouse(async ({ target, query }) => {
        const request = publication(1, first, { table: 'Analytics.businesses' });
        const check = () => target.check(request, options.signal);
        const load = () => target.load(request, options);
        for (const refused of [check, load]) {
          await expect(refused()).rejects.toMatchObject({
            code: 'LOAD_SCHEMA_MISSING',
            exitCode: 2,
            message: expect.stringContaining('"analytics"'),
            hint: expect.stringContaining('create schema "analytics"'),
          });
        }
        await query('create schema analytics');
        await check();
        expect(await load()).toMatchObject({ written: 3 });
      }),
    );

    it(
      'casts to the types of the table, and a value that does not fit leaves nothing',
      withWarehouse(async ({ load, refuses, query }) => {
        await query(
          'create table businesses (id varchar(9) primary key, name varchar(9), status varchar(20), code varchar(20), error varchar(20), naics integer, paid_by varchar(9))',
        );
        for (const mode of ['merge', 'replace'] as const) {
          const number = mode === 'merge' ? 1 : 2;
          await load(publication(number, first, { mode }));
          expect(await query('select naics + 1 as next from businesses order by id')).toEqual(
            [12, 13, 14].map((next) => ({ next })),
          );
          await refuses(
            publication(9, [first[1]!, good('01009', 'Eve', 'many')], { mode }),
            'LOAD_VALUE_UNFIT',
            2,
          );
        }
      }),
    );

    it(
      'names: finds columns by small letters, cuts long names, and refuses names that would be one',
      withWarehouse(async ({ target, load, refuses, query }) => {
        const long = 'x'.repeat(70);
        const named = (...names: string[]) => [
          ...names.map((column) => ({ name: column, role: 'source' as const })),
          { name: 'status', role: 'status' as const },
        ];
        const request = publication(1, [['1', 'a', 'b', 'SUCCESSFUL']], {
          columns: named('ID', 'Order By', long),
        });
        await load(request);
        const [row] = await query(`select id, "order by" as b, "${long.slice(0, 63)}" as c from businesses`);
        expect(row).toEqual({ id: '1', b: 'a', c: 'b' });
        for (const names of [['Name', 'NAME'], [`${long}1`, `${long}2`], [' ']]) {
          const twins = publication(2, [], { columns: named(...names) });
          await expect(target.check(twins, options.signal)).rejects.toMatchObject({ code: 'LOAD_NAMES' });
          await refuses(twins, 'LOAD_NAMES', 2);
        }
      }),
    );

    it(
      'finds a table in its schema, also with capital letters that are not ASCII',
      withWarehouse(async ({ load, query }) => {
        await query('create schema "Ämter"');
        await load(publication(1, first, { table: 'ÄMTER.ÄRZTE' }));
        await load(publication(1, second, { table: 'other' }));
        const next = publication(2, second, { table: '"Ämter"."Ärzte"' });
        expect(await load(next)).toMatchObject({ written: 3, removed: 3 });
        expect(await query('select id from "Ämter"."Ärzte" order by id')).toEqual(
          second.map(([id]) => ({ id })),
        );
        expect(await query('select distinct target from "Ämter".foliopipe_loads')).toEqual([
          { target: 'Ärzte' },
        ]);
      }),
    );

    it(
      'names what its own table lacks',
      withWarehouse(async ({ load, query, refuses, target }) => {
        await load(publication(1, first));
        await query('alter table foliopipe_loads rename column written to rows_written');
        const next = publication(2, second);
        await expect(target.check(next, options.signal)).rejects.toMatchObject({
          code: 'LOAD_UNFIT',
          hint: expect.stringMatching(/give it the column again, or rename the table/),
          facts: { columns: 'written' },
        });
        await refuses(next, 'LOAD_UNFIT', 2);
      }),
    );

    it.each(['replace', 'merge'] as const)(
      '%s: a file with fewer rows, or other bytes, leaves nothing',
      (mode) =>
        withWarehouse(async ({ load, refuses }) => {
          await load(publication(1, first, { mode }));
          const next = publication(2, second, { mode });
          await refuses({ ...next, file: { ...next.file, records: 4 } }, 'LOAD_ROWS_DIFFER', 6);
          const sameLength = [good('01002', 'Ba', '12'), ...second.slice(1)];
          for (const rows of [first, sameLength]) {
            const { open } = publication(2, rows).file;
            await refuses({ ...next, file: { ...next.file, open } }, 'OUTPUT_CHANGED', 2);
          }
          const broken = new Error('the disk is gone');
          const open = async function* () {
            yield Buffer.from('id,name');
            throw broken;
          };
          await expect(load({ ...next, file: { ...next.file, open } })).rejects.toBe(broken);
          expect(await load(next)).toMatchObject({ already: false });
        })(),
    );

    it.each([
      'after-load-piece-before-next',
      'after-load-copy-before-rows',
      'after-load-rows-before-commit',
    ] as const)('a signal %s undoes the load, and its reason is the error', (window) =>
      withWarehouse(async ({ target, load, cells }) => {
        await load(publication(1, first, { mode: 'merge' }));
        const controller = new AbortController();
        const reason = new Error('stop');
        const at = (point: string) => {
          if (point === window) controller.abort(reason);
        };
        const next = publication(2, second, { mode: 'merge', onRemoved: 'delete' });
        await expect(target.load(next, { signal: controller.signal, at })).rejects.toBe(reason);
        expect(await cells()).toEqual(first);
        expect(await load(next)).toMatchObject({ written: 2, removed: 1 });
      })(),
    );
  });
}
