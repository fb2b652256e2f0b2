/** What stops a run from outside: the signal of its caller and its deadline. Uploads in flight are waited for. */
import { setMaxListeners } from 'node:events';
import type { HeldLock } from '../../checkpoint/pipeline-lock.js';
import { ConfigError, DeadlineError } from '../../errors.js';
import { followCaller } from '../../streams/abortable.js';
import type { Clock } from '../../streams/clock.js';
import type { Closeable, Releasers } from './releasers.js';

/** Waits for the uploads in flight, because they may be paid for: their replies must be recorded. */
export async function endUploads(inFlight: ReadonlySet<Promise<unknown>>): Promise<void> {
  while (inFlight.size > 0) await Promise.allSettled(inFlight);
}

/** A controller for the run, which aborts when the caller's signal does, with a FoliopipeError. */
export function linkedController(signal: AbortSignal | undefined, releasers: Releasers): AbortController {
  const controller = new AbortController();
  // Every folio and part in flight listens: `concurrency` bounds them, and Node would warn at eleven.
  setMaxListeners(0, controller.signal);
  if (signal === undefined) return controller;
  const leave = followCaller(controller, signal);
  releasers.add({ close: async () => leave() });
  return controller;
}

/** Aborts the run when its pipeline's lock has passed to another process. */
export function stopWhenLost(controller: AbortController, { lost }: HeldLock): void {
  const stop = () => controller.abort(lost?.reason);
  // The lock may have been lost while the state was opened.
  if (lost?.aborted) stop();
  lost?.addEventListener('abort', stop, { once: true });
}

/**
 * Aborts the run at its deadline.
 * @param deadline epoch milliseconds; a past deadline aborts at once.
 */
export function stopAtDeadline(controller: AbortController, deadline: number, clock: Clock): Closeable {
  const closed = new AbortController();
  const wait = async () => {
    for (let left = deadline - clock.now(); left > 0; left = deadline - clock.now()) {
      await clock.sleep(Math.min(left, checkDeadlineEveryMs), closed.signal);
    }
    const instant = new Date(deadline).toISOString();
    controller.abort(
      new DeadlineError('DEADLINE_REACHED', `the deadline ${instant} was reached`, {
        hint: 'run the same command with a later deadline: it goes on where this one stopped',
        facts: { deadline: instant },
      }),
    );
  };
  // The wait fails only when it is closed.
  const ended = wait().catch(() => undefined);
  return {
    close: () => {
      closed.abort();
      return ended;
    },
  };
}

/** The error of work on a run that the program has closed. */
export function closedError(run: string): ConfigError {
  return new ConfigError('RUN_CLOSED', `run ${run} is closed: it gives no rows and cannot be confirmed`, {
    hint: 'take the rows and confirm before close(), or inside the block of withRun and of await using; opened again, it goes on, pays nothing twice, and gives every row again',
    facts: { run },
  });
}

/** A timer cannot wait for months, and stops while the machine sleeps. So the clock is read at least this often. */
const checkDeadlineEveryMs = 60_000;
