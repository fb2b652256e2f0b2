/** With the real DuckDB in its real process. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDuckdb } from '../../src/duckdb/open-duckdb.js';
import { quoteName, quoteText } from '../../src/sql-text.js';
import { withFolder } from '../helpers/folders/folders.js';

const open = (folder: string, more: object = {}) =>
  openDuckdb('a test', { database: ':memory:', tempFolder: join(folder, 'temp'), ...more });

const endless = 'select sum(a.range * b.range) from range(1000000) a, range(1000000) b';

/** The DuckDB processes of this one. */
function children(): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid,ppid,args'], { encoding: 'utf8' }).split('\n').slice(1);
  return listed
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(line) ?? [])
    .filter(([, , parent, args]) => Number(parent) === process.pid && args?.includes('duckdb-child'))
    .map(([, pid]) => Number(pid));
}

it('keeps what it has written in the file of the database, and leaves no process behind', () =>
  withFolder(async (folder) => {
    const database = join(folder, 'a.duckdb');
    const writing = await open(folder, { database });
    await writing.run(
      `create table ${quoteName('a "b"')} (x bigint, y varchar); insert into "a ""b""" values (9007199254740993, ${quoteText("it's")})`,
    );
    await writing.close();
    const reading = await open(folder, { database, readOnly: true });
    expect(await reading.rows('from "a ""b"""')).toEqual([{ x: '9007199254740993', y: "it's" }]);
    await expect(reading.run('create table c (d int)')).rejects.toMatchObject({ kind: 'Invalid Input' });
    await reading.close();
    expect(children()).toEqual([]);
    expect(readdirSync(folder)).toEqual(['a.duckdb']);
  }));

it('tells what DuckDB says of a wrong statement, and goes on', () =>
  withFolder(async (folder) => {
    const session = await open(folder);
    await expect(session.rows('select nothing')).rejects.toMatchObject({
      name: 'DuckdbError',
      kind: 'Binder',
      message: expect.stringContaining('nothing'),
    });
    expect(await session.rows('select 1 as one')).toEqual([{ one: 1 }]);
    await session.close();
  }));

it('takes two threads and 1 GB, and no more of the machine', () =>
  withFolder(async (folder) => {
    const session = await open(folder);
    const limits = "select current_setting('threads') as threads, current_setting('memory_limit') as memory";
    expect(await session.rows(limits)).toEqual([{ threads: '2', memory: '953.6 MiB' }]);
    await session.close();
  }));

it('refuses a file that is no database', () =>
  withFolder(async (folder) => {
    await expect(open(folder, { database: import.meta.filename })).rejects.toMatchObject({ kind: 'IO' });
    expect(children()).toEqual([]);
  }));

it('ends a statement when the signal asks for it', () =>
  withFolder(async (folder) => {
    const stop = new AbortController();
    const session = await open(folder, { signal: stop.signal });
    const running = session.rows(endless);
    stop.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
    await session.close();
    expect(children()).toEqual([]);
  }));

it('says what its process has printed before it crashed', () =>
  withFolder(async (folder) => {
    const crash = "process.stderr.write('begins\\nout of memory\\n', () => process.exit(3))";
    const start = () =>
      spawn(process.execPath, ['-e', crash], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    await expect(open(folder, { start })).rejects.toMatchObject({
      code: 'DUCKDB_ENDED',
      message: 'the DuckDB process was ended with code 3: out of memory',
    });
  }));

it('starts none after an abort', () =>
  withFolder(async (folder) => {
    const start = () => expect.unreachable();
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(open(folder, { start, signal })).rejects.toThrow('stopped');
  }));

it('reports the end of its process', () =>
  withFolder(async (folder) => {
    const session = await open(folder);
    const running = session.rows(endless);
    process.kill(children()[0]!, 'SIGKILL');
    await expect(running).rejects.toMatchObject({
      code: 'DUCKDB_ENDED',
      exitCode: 5,
      facts: { signal: 'SIGKILL' },
    });
    await expect(session.run('select 1')).rejects.toMatchObject({ code: 'DUCKDB_ENDED' });
    await session.close();
  }));

it('takes no more CPUs and memory than it may, keeps its files where it is told, and downloads nothing', () =>
  withFolder(async (folder) => {
    const session = await open(folder);
    const names = ['threads', 'memory_limit', 'temp_directory', 'autoinstall_known_extensions'];
    const settings = names.map((name) => `current_setting('${name}')::varchar as ${name}`);
    expect(await session.rows(`select ${settings.join(', ')}`)).toEqual([
      {
        threads: '2',
        memory_limit: '953.6 MiB',
        temp_directory: join(folder, 'temp'),
        autoinstall_known_extensions: 'false',
      },
    ]);
    await session.close();
  }));

it('gives no secret of the environment to its process', () =>
  withFolder(async (folder) => {
    const session = await open(folder);
    const environment = readFileSync(`/proc/${children()[0]}/environ`, 'utf8');
    expect(environment).toMatch(/^(NODE_CHANNEL_\w+=\w+\0)+$/);
    await session.close();
  }));

it('tells why its process cannot be started: too many files are open', () =>
  withFolder(async (folder) => {
    const start = () => {
      const child = Object.assign(new EventEmitter(), { kill: () => false }) as unknown as ChildProcess;
      const error = Object.assign(new Error('spawn node EMFILE'), { code: 'EMFILE', syscall: 'spawn node' });
      process.nextTick(() => child.emit('error', error));
      return child;
    };
    await expect(open(folder, { start })).rejects.toMatchObject({ code: 'EMFILE' });
  }));
