/** Tables of Postgres that decide on their rows themselves: a load stores every row, or nothing. */
import { createHash } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createLoadTarget } from '../../../src/load/configured-load.js';
import type { LoadDelta, LoadFile, LoadRequest, LoadTable } from '../../../src/load/load-target.js';
import { printLoad } from '../../../src/load/print/print-load.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';

const server = usePostgres();
let database: Database;
beforeEach(async () => {
  database = await server.createDatabase();
});

type Way = Pick<LoadRequest, 'mode' | 'onRemoved'>;

const ways: readonly (readonly [string, Way])[] = [
  ['append', { mode: 'append', onRemoved: 'keep' }],
  ['replace', { mode: 'replace', onRemoved: 'keep' }],
  ['merge', { mode: 'merge', onRemoved: 'keep' }],
  ['merge that deletes', { mode: 'merge', onRemoved: 'delete' }],
];

async function createTable({ mode }: Way): Promise<void> {
  const key = mode === 'merge' ? ' primary key' : '';
  const run = mode === 'append' ? ', foliopipe_run text' : '';
  await database.query(`create table firms (id text${key}, name text, status text, code text${run})`);
}

function fileOf(text: string): LoadFile {
  return {
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
    records: text.split('\n').length - 2,
    open: async function* () {
      yield Buffer.from(text);
    },
  };
}

const outputOf = (ids: readonly string[]) =>
  fileOf(`id,name,status,code\n${ids.map((id) => `${id},Ann,SUCCESSFUL,11\n`).join('')}`);

const tableOf = (way: Way): LoadTable => ({
  pipeline: 'nightly',
  table: 'firms',
  onSchema: 'fail',
  ...way,
  columns: [
    { name: 'id', role: way.mode === 'merge' ? 'key' : 'source' },
    { name: 'name', role: 'source' },
    { name: 'status', role: 'status' },
    { name: 'code', role: 'answer' },
  ],
});

/** Loads the rows with these ids as a publication of a run of its own. */
async function load(
  way: Way,
  publication: number,
  ids: readonly string[],
  run = `run-${publication}`,
  delta: LoadDelta | null = null,
) {
  const address = new DatabaseAddress(database.url);
  const request: LoadRequest = {
    ...tableOf(way),
    run,
    publication,
    file: outputOf(ids),
    delta,
  };
  return createLoadTarget({ address, connectMs: 5_000, tempFolder: '' }).load(request, {
    signal: new AbortController().signal,
    at: () => undefined,
  });
}

const ids = async () => (await database.query('select id from firms order by id')).map(({ id }) => id);
const loads = async () => (await database.query('select publication from foliopipe_loads')).length;

/** Before each row of these changes, a trigger leaves out that with id b. */
const leaveOut = (events: string) =>
  database.query(`
    create function leave_out() returns trigger language plpgsql as $$
    begin
      if coalesce(new.id, old.id) = 'b' then return null; end if;
      return coalesce(new, old);
    end $$;
    create trigger leave_out before ${events} on firms for each row execute function leave_out()`);

it.each(ways)('a trigger that leaves a row out ends the load without a trace: %s', async (_, way) => {
  await createTable(way);
  await leaveOut('insert');
  await expect(load(way, 1, ['a', 'b', 'c'])).rejects.toMatchObject({
    code: 'LOAD_UNFIT',
    exitCode: 2,
    message: expect.stringMatching(/has (?:2 rows of the 3|no row with the key "?b)/),
    hint: expect.stringContaining('nothing was loaded'),
  });
  expect(await ids()).toEqual([]);
  await database.query('drop trigger leave_out on firms');
  await load(way, 1, ['a', 'b', 'c']);
  expect(await ids()).toEqual(['a', 'b', 'c']);
});

/** Runs the printed script, whose file is the rows with these ids. */
async function runPrinted(way: Way, publication: number, ids: readonly string[]): Promise<void> {
  const file = { path: '/x.csv', format: 'csv', records: ids.length } as const;
  const printed = { table: tableOf(way), publication, run: `run-${publication}`, sha256: 'ab', file };
  const rows = ids.map((id) => `('${id}', 'Ann', 'SUCCESSFUL', '11')`);
  const script = printLoad(printed, 'postgres').replace(
    /^\\copy .*$/m,
    `insert into foliopipe_staging values ${rows.join(', ')};`,
  );
  const client = await database.connect();
  await client.query(script).finally(() => client.end());
}

it.each(ways)('a printed script ends with an error before its commit, too: %s', async (_, way) => {
  await createTable(way);
  await leaveOut('insert');
  const run = () => runPrinted(way, 1, ['a', 'b', 'c']);
  await expect(run()).rejects.toThrow('the table does not store the output unchanged: a trigger, a rule or');
  expect(await ids()).toEqual([]);
  await database.query('drop trigger leave_out on firms');
  await run();
  await run();
  expect(await ids()).toEqual(['a', 'b', 'c']);
});

it.each(ways)('a rule that does nothing instead is found: %s', async (_, way) => {
  await createTable(way);
  await database.query('create rule none as on insert to firms do instead nothing');
  await expect(load(way, 1, ['a', 'b'])).rejects.toMatchObject({ code: 'LOAD_UNFIT' });
});

it.each([ways[0]!, ways[1]!, ways[3]!])(
  'rows that a trigger keeps from being deleted are found: %s',
  async (_, way) => {
    await createTable(way);
    await load(way, 1, ['a', 'b']);
    await leaveOut('delete');
    // The run of the first publication is published again, with other rows.
    await expect(load(way, 2, ['a', 'c'], 'run-1')).rejects.toMatchObject({ code: 'LOAD_UNFIT' });
    expect(await ids()).toEqual(['a', 'b']);
    expect(await loads()).toBe(1);
  },
);

it('a row of a delta that a trigger keeps from being deleted is found, also where another row is missing', async () => {
  const [, way] = ways[3]!;
  await createTable(way);
  await load(way, 1, ['a', 'b', 'c']);
  await leaveOut('delete');
  await database.query("delete from firms where id = 'c'");
  const base = { publication: 1, sha256: outputOf(['a', 'b', 'c']).sha256 };
  const delta = { ...fileOf('id,name,status,code,change\nb,Ann,SUCCESSFUL,11,removed\n'), base };
  await expect(load(way, 2, ['a', 'c'], 'run-2', delta)).rejects.toMatchObject({
    code: 'LOAD_UNFIT',
    message: expect.stringMatching(/kept the row with the key "?b"?, which was to be deleted/),
  });
  expect(await loads()).toBe(1);
  await database.query('drop trigger leave_out on firms');
  await load(way, 2, ['a', 'c'], 'run-2', delta);
  expect(await ids()).toEqual(['a', 'c']);
});

/** A table with a trigger that changes rows and leaves none out. */
async function createStamped(way: Way): Promise<void> {
  await createTable(way);
  await database.query(`
    create function stamp() returns trigger language plpgsql as $$
    begin new.name := upper(new.name); return new; end $$;
    create trigger stamp before insert or update on firms for each row execute function stamp()`);
}

it.each([
  [...ways[2]!, ['a', 'b', 'c', 'd']],
  [...ways[3]!, ['a', 'c', 'd']],
] as const)('a trigger that leaves nothing out does not disturb a delta: %s', async (_, way, left) => {
  await createStamped(way);
  await load(way, 1, ['a', 'b', 'c']);
  const base = { publication: 1, sha256: outputOf(['a', 'b', 'c']).sha256 };
  const rows = 'b,Ann,SUCCESSFUL,11,removed\nd,Ann,SUCCESSFUL,11,added\n';
  await load(way, 2, ['a', 'c', 'd'], 'run-2', { ...fileOf(`id,name,status,code,change\n${rows}`), base });
  expect(await ids()).toEqual(left);
});

it.each(ways)('a trigger that leaves nothing out does not disturb: %s', async (_, way) => {
  await createStamped(way);
  await load(way, 1, ['a', 'b']);
  await load(way, 2, ['a', 'b', 'c']);
  expect(await ids()).toEqual(way.mode === 'append' ? ['a', 'a', 'b', 'b', 'c'] : ['a', 'b', 'c']);
});

it('rows of other runs and keys that are not deleted do not count', async () => {
  for (const [, way] of [ways[0]!, ways[2]!]) {
    await createTable(way);
    await load(way, 1, ['a', 'b']);
    await leaveOut('update');
    await load(way, 2, ['c']);
    expect(await ids()).toEqual(['a', 'b', 'c']);
    await database.query('drop table firms, foliopipe_loads; drop function leave_out');
  }
});
