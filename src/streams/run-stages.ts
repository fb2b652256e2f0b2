/**
 * Runs a chain of stages to its end with `stream/promises.pipeline`. Invariant: when a stage fails or returns early, the
 * waits of the other stages are aborted, and every stage has ended before the chain ends.
 */
import { pipeline } from 'node:stream/promises';
import { isStageEnded, stageEnded } from './abortable.js';

/** The first stage of a chain. */
export type SourceStage<Out> = () => AsyncIterable<Out>;
/** A function from a stream to a stream. */
export type Stage<In, Out> = (items: AsyncIterable<In>) => AsyncIterable<Out>;
/** The last stage of a chain. */
export type SinkStage<In, Result> = (items: AsyncIterable<In>) => Promise<Result>;

type AnyStage = (items: AsyncIterable<never>) => AsyncIterable<unknown> | Promise<unknown>;

/**
 * At most nine stages; join more of them to one function.
 * @param controller aborted when a stage fails or returns early. The stages must listen to its signal and throw its
 *   reason.
 * @returns the result of the last stage.
 * @throws the error of the stage that failed first, not the errors that follow from the abort; ConfigError `STAGE_ENDED`
 *   where a stage between others has ended early. The last stage may do so.
 */
export async function runStages<Result, A, B = A, C = B, D = C, E = D, F = E, G = F, H = G>(
  controller: AbortController,
  ...stages:
    | [SourceStage<A>, SinkStage<A, Result>]
    | [SourceStage<A>, Stage<A, B>, SinkStage<B, Result>]
    | [SourceStage<A>, Stage<A, B>, Stage<B, C>, SinkStage<C, Result>]
    | [SourceStage<A>, Stage<A, B>, Stage<B, C>, Stage<C, D>, SinkStage<D, Result>]
    | [SourceStage<A>, Stage<A, B>, Stage<B, C>, Stage<C, D>, Stage<D, E>, SinkStage<E, Result>]
    | [SourceStage<A>, Stage<A, B>, Stage<B, C>, Stage<C, D>, Stage<D, E>, Stage<E, F>, SinkStage<F, Result>]
    | [
        SourceStage<A>,
        Stage<A, B>,
        Stage<B, C>,
        Stage<C, D>,
        Stage<D, E>,
        Stage<E, F>,
        Stage<F, G>,
        SinkStage<G, Result>,
      ]
    | [
        SourceStage<A>,
        Stage<A, B>,
        Stage<B, C>,
        Stage<C, D>,
        Stage<D, E>,
        Stage<E, F>,
        Stage<F, G>,
        Stage<G, H>,
        SinkStage<H, Result>,
      ]
): Promise<Result> {
  const [first, ...rest] = stages as unknown as [SourceStage<never>, ...AnyStage[]];
  const failures: unknown[] = [];
  const sources: AsyncIterator<unknown>[] = [];
  const guarded = rest.map((stage) => (items: AsyncIterable<never>) => {
    const source = items[Symbol.asyncIterator]();
    sources.push(source);
    return stage(guard(source, controller, failures));
  });
  const run = pipeline as unknown as (...chain: unknown[]) => Promise<Result>;
  controller.signal.throwIfAborted();
  const [end] = await Promise.allSettled([run(first, ...guarded)]);
  if (end.status === 'rejected') failures.push(end.reason);
  // The last stage may end while an earlier one still finishes work, such as an upload that is paid for. A stage that
  // fails closes its source before its own error arrives, so a later stage may have thrown first.
  await Promise.allSettled(sources.map((source) => source.return?.()));
  if (end.status === 'fulfilled') return end.value;
  throw failures.find((error) => !isStageEnded(error)) ?? end.reason;
}

/** A last stage that reads all items and drops them. */
export async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** Gives the same items; aborts the controller when they fail or the consumer returns early. */
function guard<T>(
  iterator: AsyncIterator<T>,
  controller: AbortController,
  failures: unknown[],
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        iterator.next().catch((error: unknown) => {
          failures.push(error);
          controller.abort(error);
          throw error;
        }),
      return: async () => {
        controller.abort(stageEnded());
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
