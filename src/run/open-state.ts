/** The checkpoint under its pipeline's lock: what everything that writes needs first. */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { openSqliteCheckpoint } from '../checkpoint/open-sqlite-checkpoint.js';
import type { Config } from '../config/schema.js';
import { type Logger, silentLogger } from '../logger.js';
import { type Clock, systemClock } from '../streams/clock.js';
import { createReleasers, type Releasers } from './releasers.js';
import type { RunOptions } from './run-options.js';
import { waitForLock } from './wait-for-lock.js';

type StateOptions = Pick<RunOptions, 'holder' | 'waitLock' | 'clock' | 'logger' | 'signal'>;

export interface StateNeeds {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/**
 * @param releasers gets what is opened, in this order.
 * @throws LockedError, ConfigError, TroubleError.
 */
export async function openState(
  { stateDir, pipeline }: Pick<Config, 'stateDir' | 'pipeline'>,
  options: Pick<StateOptions, 'holder' | 'waitLock'>,
  needs: StateNeeds,
  releasers: Releasers,
): Promise<Checkpoint> {
  const holder = { pid: 0, command: 'foliopipe', ...options.holder, since: needs.clock.now() };
  releasers.add(await waitForLock({ stateDir, pipeline, holder, wait: options.waitLock ?? 0 }, needs));
  const checkpoint = await openSqliteCheckpoint(stateDir);
  releasers.add(checkpoint);
  return checkpoint;
}

/** Runs a body with a pipeline's state alone: no source, no service. */
export async function withState<T>(
  config: Pick<Config, 'stateDir' | 'pipeline'>,
  options: StateOptions,
  body: (state: StateNeeds & { readonly checkpoint: Checkpoint }) => Promise<T>,
): Promise<T> {
  const { clock = systemClock, logger = silentLogger, signal = new AbortController().signal } = options;
  const needs = { clock, logger, signal };
  const releasers = createReleasers();
  try {
    const checkpoint = await openState(config, options, needs, releasers);
    return await body({ ...needs, checkpoint });
  } finally {
    await releasers.close();
  }
}
