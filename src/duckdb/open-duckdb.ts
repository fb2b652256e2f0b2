/**
 * DuckDB in a child process. Its native code and its memory stay out of this process, and if it crashes, that is an
 * error like any other. The statements go through a pipe, so that the process list shows none.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { ConfigError, TroubleError } from '../errors.js';

export interface DuckdbSession {
  /**
   * Runs one or more statements.
   * @throws DuckdbError; TroubleError `DUCKDB_ENDED`; the signal's reason.
   */
  run(sql: string): Promise<void>;
  /** Runs a statement. @returns its rows. Numbers of 64 bits and more, decimals and dates are texts. */
  rows<Row = Record<string, unknown>>(sql: string): Promise<readonly Row[]>;
  /** Writes all changes to the database file, and ends the process. */
  close(): Promise<void>;
}

export interface DuckdbOptions {
  /** The path of a database file, or `:memory:`. */
  readonly database: string;
  readonly readOnly?: boolean;
  /** The folder for what does not fit into memory. DuckDB creates it when it needs it. */
  readonly tempFolder: string;
  /** Ends the process, and undoes its transaction. */
  readonly signal?: AbortSignal;
  /** Starts the process. Default: `startDuckdb`. */
  readonly start?: (() => ChildProcess) | undefined;
}

/** Without limits, DuckDB takes all CPUs and most of the memory. */
const LIMITS = { threads: '2', memory_limit: '1GB' };

/** How much is kept of what DuckDB prints when it crashes. */
const STDERR_CHARS = 1000;

/** What the child answers to one message. */
interface Answer {
  readonly number: number;
  readonly value?: unknown;
  readonly failure?: string;
}

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** A statement that DuckDB has refused, with DuckDB's message. The sender of the statement decides what it means. */
export class DuckdbError extends Error {
  override readonly name = 'DuckdbError';

  /** Such as `Conversion` of "Conversion Error: ...". */
  readonly kind: string;

  constructor(message: string) {
    super(message);
    this.kind = /^([\w ]+?) (?:Error|Exception):/.exec(message)?.[1] ?? '';
  }

  /** Whether another process has the file open. Looks for more than the word `lock`, which `block` contains, too. */
  get isHeld(): boolean {
    return /Conflicting lock|Could not set lock|being used by another process/.test(this.message);
  }
}

/**
 * Checks that the package is installed; loads nothing.
 * @throws ConfigError `DUCKDB_MISSING`
 */
export function checkDuckdb(need: string): void {
  try {
    createRequire(import.meta.url).resolve('@duckdb/node-api');
  } catch {
    throw missing(need);
  }
}

/** Starts a process that has opened no database yet. */
export function startDuckdb(): ChildProcess {
  return fork(fileURLToPath(new URL('./duckdb-child.js', import.meta.url)), {
    // DuckDB needs no environment, which holds the token and the addresses of databases.
    env: {},
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/**
 * Opens a database. No extension is downloaded.
 * @param need what DuckDB is needed for, such as `an output that ends in .parquet`
 * @throws ConfigError `DUCKDB_MISSING`; DuckdbError when the database cannot be opened; the signal's reason.
 */
export async function openDuckdb(need: string, options: DuckdbOptions): Promise<DuckdbSession> {
  const { database, readOnly = false, tempFolder, signal, start = startDuckdb } = options;
  signal?.throwIfAborted();
  checkDuckdb(need);
  const child = start();
  const ask = asker(child, signal);
  const stop = () => void child.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  const ended = once(child, 'exit').finally(() => signal?.removeEventListener('abort', stop));
  try {
    await ask('open', {
      database,
      options: {
        ...LIMITS,
        temp_directory: tempFolder,
        autoinstall_known_extensions: 'false',
        access_mode: readOnly ? 'READ_ONLY' : 'AUTOMATIC',
      },
    });
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    throw error;
  }
  return {
    run: async (sql) => void (await ask('run', { sql })),
    rows: async <Row>(sql: string) => (await ask('rows', { sql })) as readonly Row[],
    close: async () => {
      try {
        if (child.connected) await ask('close', {});
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    },
  };
}

/** Sends messages, and settles each one by its answer or by the end of the child. */
function asker(child: ChildProcess, signal: AbortSignal | undefined) {
  const asked = new Map<number, Asked>();
  let number = 0;
  let end: unknown;
  let printed = '';
  // A system without room for more open files starts a process without any pipe, and reports it afterwards.
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-STDERR_CHARS);
  });
  const failAll = (reason: unknown) => {
    end ??= reason;
    for (const { reject } of asked.values()) reject(end);
    asked.clear();
  };
  child.on('error', failAll);
  child.on('close', (code, signalName) =>
    failAll(signal?.aborted ? signal.reason : ended(code, signalName, printed)),
  );
  child.on('message', ({ number: answered, value, failure }: Answer) => {
    const { resolve, reject } = asked.get(answered)!;
    asked.delete(answered);
    if (failure === undefined) resolve(value);
    else reject(new DuckdbError(failure));
  });
  return (action: string, values: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (end !== undefined) return reject(end);
      number += 1;
      asked.set(number, { resolve, reject });
      // If the child has ended, the error of its event says why.
      child.send?.({ number, action, ...values }, () => undefined);
    });
}

function ended(code: number | null, signalName: string | null, printed: string): TroubleError {
  const how = signalName === null ? `with code ${code}` : `by ${signalName}`;
  const said = printed.trim().split('\n').at(-1);
  return new TroubleError('DUCKDB_ENDED', `the DuckDB process was ended ${how}${said ? `: ${said}` : ''}`, {
    hint: 'run the same command again; if it happens each time, look in the log of the system whether it was out of memory',
    facts: { exitCode: code, signal: signalName },
  });
}

function missing(need: string): ConfigError {
  return new ConfigError('DUCKDB_MISSING', `${need} needs the package @duckdb/node-api`, {
    hint: 'npm install @duckdb/node-api',
  });
}
