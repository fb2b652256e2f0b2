/** Async iterables that end at once when they are aborted, or when their consumer returns early. */
import { setMaxListeners } from 'node:events';
import { ConfigError, FoliopipeError, stopError } from '../errors.js';

/**
 * Gives the same items until the signal aborts, then throws the signal's reason and stops reading. Without it, the call
 * for the next item would never settle if the source is a destroyed Node stream or a stage that waits.
 */
export function abortable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]();
  let isWaiting = false;
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      isWaiting = true;
      const settle = () => {
        isWaiting = false;
        signal.removeEventListener('abort', onAbort);
      };
      iterator.next().then(
        (result) => {
          settle();
          resolve(result);
        },
        (error: unknown) => {
          settle();
          reject(error);
        },
      );
    });
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        const closed = Promise.resolve(iterator.return?.());
        // A generator closes only after its next item has come, which may never happen after an abort.
        if (signal.aborted && isWaiting) closed.catch(() => undefined);
        else await closed;
        return { done: true, value: undefined };
      },
    }),
  };
}

/**
 * Gives the same items, and tells a stage at once that its consumer returned early, as a Node stream does when it is
 * destroyed. The consumer's `return` aborts the controller before it reaches the generator: a generator that
 * waits for its next item, or for work that takes hours, would not notice the `return`.
 * @param controller aborted when the consumer ends before the items do, with the consumer's error if it has one.
 * @param reason makes the reason of the abort when the consumer returns early: it then gives no error.
 */
export function abortOnEarlyReturn<T>(
  items: AsyncGenerator<T>,
  controller: AbortController,
  reason: () => unknown = stageEnded,
): AsyncGenerator<T> {
  let ended = false;
  const abort = (reason: unknown) => {
    if (!ended) controller.abort(reason);
    ended = true;
  };
  const generator: AsyncGenerator<T> = {
    next: async () => {
      try {
        const result = await items.next();
        if (result.done) ended = true;
        return result;
      } catch (error) {
        ended = true;
        throw error;
      }
    },
    return: (value) => {
      abort(reason());
      return items.return(value);
    },
    throw: (error) => {
      abort(error);
      return items.throw(error);
    },
    [Symbol.asyncIterator]: () => generator,
  };
  return generator;
}

/** The reason of the abort when a stage has ended before its items: what is thrown where no stage has failed. */
export function stageEnded(): ConfigError {
  return new ConfigError('STAGE_ENDED', 'a stage has ended before it had read all that it was given', {
    hint: 'let each stage of the program read its items to their end; the run goes on when it is opened again, and pays nothing twice',
  });
}

export function isStageEnded(error: unknown): boolean {
  return error instanceof ConfigError && error.code === 'STAGE_ENDED';
}

/**
 * Aborts the controller when the caller's signal does, or has, with a FoliopipeError: the signal's reason, if it is
 * one, else an `InterruptedError` with that as its cause.
 * @returns a function that stops following and removes the listener from the signal.
 */
export function followCaller(controller: AbortController, signal: AbortSignal): () => void {
  // Avoids a warning: a program may give the same signal to any number of jobs.
  setMaxListeners(0, signal);
  const follow = () => controller.abort(stopError(signal.reason));
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  return () => signal.removeEventListener('abort', follow);
}

/**
 * Does the work under a signal that aborts when the caller's does, see `followCaller`. Ends with the signal's reason
 * wherever the work notices the abort, even where a part of Node throws an error of its own.
 * @param caller if it is left out, nothing stops the work.
 * @param work need not listen to its signal.
 */
export async function withStopErrors<T>(
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const leave = caller && followCaller(controller, caller);
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted && error === caller?.reason ? signal.reason : stopReason(signal, error);
  } finally {
    leave?.();
  }
}

/**
 * The error that work under a signal ends with.
 * @param signal its reason is a FoliopipeError where something from outside has stopped the work.
 * @returns the signal's reason where a part of Node has thrown an error of its own because of the abort.
 */
export function stopReason(signal: AbortSignal, error: unknown): unknown {
  const { reason } = signal;
  // The AbortError of a stage that has ended early is its own, such as that of a request that it has stopped.
  const isFromOutside = reason instanceof FoliopipeError && !isStageEnded(reason);
  return isFromOutside && isAbortError(error) ? reason : error;
}

function isAbortError(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
