/** Opens everything that a run needs, finds or begins it, and closes it all again in reverse order. */
import type { Config } from '../config/schema.js';
import { DeadlineError, InterruptedError } from '../errors.js';
import { createLocalOutputStore } from '../files/local-output-store.js';
import { createLocalFiles } from '../files/local-run-files.js';
import type { FileStore } from '../files/run-files.js';
import { silentLogger } from '../logger.js';
import type { RunContext } from '../run-context.js';
import { type Clock, systemClock } from '../streams/clock.js';
import { createPermits } from '../streams/permits.js';
import { type FoundRun, findRun } from './find-run.js';
import { type Closeable, createReleasers, openState } from './open-state.js';
import type { RunOptions } from './run-options.js';
import { openApi, serviceIdentity } from './service.js';

export interface OpenRun extends RunContext {
  readonly found: FoundRun['found'];
  /** The files of all runs. */
  readonly fileStore: FileStore;
  close(): Promise<void>;
}

/**
 * Takes the pipeline's lock, opens the checkpoint, checks the source, and finds or begins the run.
 * @throws LockedError, ConfigError, SourceError; nothing stays open then.
 */
export async function openRun(config: Config, options: RunOptions = {}): Promise<OpenRun> {
  const { logger = silentLogger, clock = systemClock, at = () => undefined } = options;
  const releasers = createReleasers();
  try {
    const controller = linkedController(options.signal, releasers);
    const { signal } = controller;
    if (options.deadline !== undefined) {
      releasers.add(stopAtDeadline(controller, options.deadline, clock));
    }
    signal.throwIfAborted();
    const checkpoint = await openState(config, options, { clock, signal, logger }, releasers);
    const { files = createLocalFiles(config.stateDir), output = createLocalOutputStore() } = options;
    const api = options.api ?? openApi(config, options);
    if (options.api === undefined) releasers.add(api);

    const uploads = { stopped: false, inFlight: new Set<Promise<unknown>>() };
    releasers.add({ close: () => endUploads(controller, uploads.inFlight) });

    const service = serviceIdentity(config);
    const needs = { config, service, checkpoint, output, signal, clock, logger };
    const { run, found } = await findRun(needs, options);
    options.onRun?.(run.id);
    if (found === 'new') at('after-run-before-chunk');
    return {
      id: run.id,
      found,
      config,
      source: run.source,
      canary: run.canary,
      checkpoint,
      files: await files.ofRun(run.id),
      fileStore: files,
      output,
      api,
      folioPermits: options.limits?.folios ?? createPermits(config.concurrency.folios),
      controller,
      signal,
      setbacks: { first: undefined },
      uploads,
      join: { method: run.join, judged: new Set(), judging: Promise.resolve(undefined) },
      work: { written: undefined },
      clock,
      logger,
      at,
      close: () => releasers.close(),
    };
  } catch (error) {
    await releasers.close();
    throw error;
  }
}

/** Whoever closes a run while chunks are on their way gets what they are answered: it is paid for. */
async function endUploads(
  controller: AbortController,
  inFlight: ReadonlySet<Promise<unknown>>,
): Promise<void> {
  if (inFlight.size > 0) controller.abort(new InterruptedError());
  while (inFlight.size > 0) await Promise.allSettled(inFlight);
}

/** A controller of the run's own that follows the caller's signal. */
function linkedController(
  signal: AbortSignal | undefined,
  releasers: ReturnType<typeof createReleasers>,
): AbortController {
  const controller = new AbortController();
  if (signal === undefined) return controller;
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  releasers.add({ close: async () => signal.removeEventListener('abort', follow) });
  return controller;
}

// Aborts a run at its deadline.

/** @param deadline epoch milliseconds; one that has passed aborts at once. */
function stopAtDeadline(controller: AbortController, deadline: number, clock: Clock): Closeable {
  const stop = () =>
    controller.abort(
      new DeadlineError('DEADLINE_REACHED', `the deadline ${new Date(deadline).toISOString()} was reached`, {
        hint: 'run the same command with a later deadline: it goes on where this one stopped',
        facts: { deadline: new Date(deadline).toISOString() },
      }),
    );
  const left = deadline - clock.now();
  if (left <= 0) {
    stop();
    return { close: async () => undefined };
  }
  const timer = setTimeout(stop, Math.min(left, longestTimerMs));
  return { close: async () => clearTimeout(timer) };
}

/** A longer timer of Node's fires at once. */
const longestTimerMs = 2 ** 31 - 1;
