/** A DuckDB process that is kept from session to session: its start takes longer than most tests that need it. */
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { startDuckdb } from '../../../src/duckdb/open-duckdb.js';

/**
 * Gives a `start` for sessions, one after the other. A session that is closed leaves its process to the next one; a
 * kill before that is a real one, and the next session starts a new process.
 */
export function keepDuckdb(): { start(): ChildProcess; end(): void } {
  let kept: ChildProcess | undefined;
  return {
    start: () => {
      const child = kept ?? startDuckdb();
      kept = undefined;
      return sessionOf(child, () => {
        kept = child;
      });
    },
    end: () => void kept?.kill('SIGKILL'),
  };
}

/** A child process that seems to end when it is killed after `close`. */
function sessionOf(child: ChildProcess, keep: () => void): ChildProcess {
  const session = new EventEmitter();
  const events = ['message', 'error', 'exit', 'close'] as const;
  const passed = events.map(
    (event) =>
      (...values: unknown[]) =>
        void session.emit(event, ...values),
  );
  events.forEach((event, at) => void child.on(event, passed[at]!));
  const stderr = new PassThrough();
  child.stderr!.pipe(stderr);
  let isClosed = false;
  const end = () => {
    events.forEach((event, at) => void child.off(event, passed[at]!));
    child.stderr!.unpipe(stderr);
    keep();
    session.emit('exit', null, 'SIGKILL');
    session.emit('close', null, 'SIGKILL');
  };
  return Object.assign(session, {
    stderr,
    connected: true,
    send: (message: { readonly action: string }, done: (error: Error | null) => void) => {
      isClosed = message.action === 'close';
      return child.send(message, done);
    },
    kill: (signal: NodeJS.Signals) => {
      if (!isClosed || child.killed || !child.connected) return child.kill(signal);
      process.nextTick(end);
      return true;
    },
  }) as unknown as ChildProcess;
}
