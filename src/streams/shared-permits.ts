/**
 * Permits that several processes share, such as those of all pipelines that use one account. They are counted outside
 * of this process (`PermitTable`), and belong to chunks: those of a process that ends stay with its open folios. This
 * file does the waiting: many callers wait, one question is asked at a time, and there are long breaks between
 * questions.
 */
import type { Milliseconds } from '../types.js';
import { type Clock, createRest } from './clock.js';
import type { Acquired, Permits } from './permits.js';

/** Where the permits are counted. A holder is a name of `permitName`. */
export interface PermitTable {
  /** Asks for permits for these holders, and joins the line if there are not enough. */
  ask(holders: readonly string[]): Promise<PermitAnswer>;
  /** The holder's folio has ended, or it was not sent: the next in the line is notified. */
  free(holder: string): Promise<void>;
  /** The service has opened the holder's folio, after it had refused one. */
  opened(holder: string): Promise<void>;
  /** A folio has ended, and fewer are open than are wanted, because the service has refused more. */
  ended(): Promise<void>;
  /** The service has refused to open the holder's folio. @returns whether to ask it again. */
  refused(holder: string): Promise<boolean>;
  /** Calls `hear` when it is this pipeline's turn, until the account is closed. */
  listen(hear: () => void): Promise<void>;
}

export interface PermitAnswer {
  /** Holders that have a permit now. */
  readonly granted: readonly string[];
  /** How many may be open, and how many are. */
  readonly limit: number;
  readonly open: number;
  /** As many as the service allows, if it has refused more. */
  readonly admitted: number | null;
  /** Other pipelines that wait, and how many of them come first. */
  readonly others: number;
  readonly ahead: number;
  /** By when it must ask again, even if it is not notified of its turn. After that it is passed over. */
  readonly patience: Milliseconds;
  /** Permits of this pipeline that will become free, and those of uploads in doubt. */
  readonly own: number;
  readonly doubtful: number;
  /** Whether the outcome of an upload and the end of a folio must be reported. */
  readonly learns: { readonly opened: boolean; readonly ended: boolean };
}

interface SharedPermitsOptions {
  readonly clock: Clock;
  /** Called with each answer, and with whether this pipeline waits for more permits. */
  readonly onAnswer?: (answer: PermitAnswer, isWaiting: boolean) => void;
  /** How long uploads in doubt keep their permits while nothing else of the run goes on. */
  readonly doubtfulFor?: Milliseconds;
}

const SECOND: Milliseconds = 1_000;
const DOUBTFUL_FOR: Milliseconds = 60 * SECOND;

interface Waiting {
  readonly grant: (acquired: Acquired) => void;
  readonly fail: (error: unknown) => void;
}

/** @param table of one account, asked by one pipeline. */
export function createSharedPermits(table: PermitTable, options: SharedPermitsOptions): Permits {
  const { clock, onAnswer, doubtfulFor = DOUBTFUL_FOR } = options;
  const waiting = new Map<string, Waiting>();
  /** The permits of this process, and whether the folio is open. */
  const held = new Map<string, boolean>();
  const kept = new Set<string>();
  let last: PermitAnswer | undefined;
  let isAsking = false;
  let isListening: Promise<void> | undefined;
  /** Whether it was notified of its turn since the last question. */
  let isCalled = false;
  /** Woken when it is this pipeline's turn, or when nobody waits any more. */
  const { rest, wake } = createRest(clock);

  const settle = (acquired: Acquired, names: Iterable<string>) => {
    for (const name of names) {
      const one = waiting.get(name);
      if (one === undefined) continue;
      waiting.delete(name);
      if (acquired === true) held.set(name, false);
      one.grant(acquired);
    }
  };
  const askWhileWaiting = async () => {
    // Listens before the first question, because its turn may come right after the answer.
    isListening ??= table.listen(() => {
      isCalled = true;
      wake();
    });
    await isListening;
    let blockedSince: number | undefined;
    while (waiting.size > 0) {
      isCalled = false;
      const answer = await table.ask([...waiting.keys()]);
      last = answer;
      settle(true, answer.granted);
      // Frees the permits whose callers do not wait any more.
      for (const name of answer.granted) if (!held.has(name)) await table.free(name);
      onAnswer?.(answer, waiting.size > 0);
      if (kept.size >= answer.limit) settle(false, [...waiting.keys()]);
      const isBlocked = answer.own === 0 && answer.doubtful > 0 && answer.granted.length === 0;
      blockedSince = isBlocked ? (blockedSince ?? clock.now()) : undefined;
      if (isBlocked && clock.now() - blockedSince! >= doubtfulFor) settle('doubtful', [...waiting.keys()]);
      if (waiting.size === 0) return;
      if (!isCalled) await rest(answer.patience * (0.7 + 0.3 * Math.random()));
    }
  };
  const serve = () => {
    if (isAsking) return;
    isAsking = true;
    askWhileWaiting()
      .catch((error: unknown) => {
        isListening = undefined;
        const all = [...waiting.values()];
        waiting.clear();
        for (const { fail } of all) fail(error);
      })
      .finally(() => {
        isAsking = false;
        if (waiting.size > 0) serve();
      });
  };

  return {
    acquire: (holder, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (held.has(holder)) return resolve(true);
        const leave = () => {
          signal.removeEventListener('abort', abort);
          waiting.delete(holder);
        };
        const abort = () => {
          leave();
          reject(signal.reason);
          if (waiting.size === 0) wake();
        };
        signal.addEventListener('abort', abort, { once: true });
        waiting.set(holder, {
          grant: (acquired) => {
            leave();
            resolve(acquired);
          },
          fail: (error) => {
            leave();
            reject(error);
          },
        });
        serve();
      }),
    release: async (holder) => {
      const wasOpen = held.get(holder);
      held.delete(holder);
      kept.delete(holder);
      if (wasOpen && last?.learns.ended) await table.ended();
      if (!wasOpen || waiting.size > 0 || (last?.others ?? 0) > 0) await table.free(holder);
    },
    keep: (holder) => {
      if (held.has(holder)) kept.add(holder);
    },
    opened: async (holder) => {
      if (held.get(holder) !== false) return;
      held.set(holder, true);
      if (last?.learns.opened) await table.opened(holder);
    },
    refused: (holder) => (held.has(holder) ? table.refused(holder) : true),
    shared: () => {
      if (last === undefined) return { open: 0, isAwaited: false };
      const { open, limit, others } = last;
      // If other pipelines wait, as many folios are open as may be, or will be at once.
      return others > 0 ? { open: Math.max(open, limit), isAwaited: true } : { open, isAwaited: false };
    },
  };
}
