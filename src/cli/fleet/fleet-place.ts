/** The flags and the place that the commands of a fleet share. They read only `state` and `scratchDir` of a config. */
import type { Command } from 'commander';
import { type Logger, TroubleError } from '../../../pipelines/index.js';
import type { FleetOptions } from '../../fleet/open-fleet.js';
import { loadPgBoss } from '../../fleet/pg-boss.js';
import { readFleetPlace } from '../../fleet/prepare-job.js';
import { createLogBackoff, pause } from '../../fleet/times.js';
import { type CommonOptions, collect, layersOf } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { rememberSecrets } from '../redact.js';

/** Adds the flags that give `state` and `scratchDir`. */
export function withPlaceOptions(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      'a config that names the state; only state and scratchDir are read; else FOLIOPIPE_STATE',
      collect,
    )
    .option('--set <key=value>', 'state or scratchDir, for example --set scratchDir=/tmp/foliopipe', collect);
}

type Place = ReturnType<typeof readFleetPlace> & {
  readonly fleetOptions: FleetOptions & { readonly logger: Logger };
};

/**
 * @throws ConfigError `FLEET_NODE_OLD`, `FLEET_DRIVER_MISSING`, `FLEET_DRIVER_OTHER`, which are checked first; the
 *   errors of `readFleetPlace`.
 */
export async function findFleet(options: CommonOptions, file: string | undefined): Promise<Place> {
  const node = process.versions.node;
  await loadPgBoss(node);
  const place = readFleetPlace(layersOf(options, file, 'nothing', true));
  rememberSecrets(place.state.secrets());
  return { ...place, fleetOptions: { node, logger: createLogger(options) } };
}

/** The time between two looks at a fleet, and between two attempts to reach its database. */
export const LOOK_MS = 2_000;

/**
 * Repeats the work while the database does not answer. Logs each new reason at once, and the same reason again at
 * growing intervals: a wrong host name in `state` looks like an outage.
 * @param who the name in the log of what waits.
 * @returns undefined if the signal came first.
 */
export async function waitForDatabase<T>(
  work: () => Promise<T>,
  { who, signal, logger }: { readonly who: string; readonly signal: AbortSignal; readonly logger: Logger },
): Promise<T | undefined> {
  let shouldLog = createLogBackoff();
  for (let reason = ''; !signal.aborted; await pause(LOOK_MS, signal)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TroubleError)) throw error;
      if (error.message !== reason) shouldLog = createLogBackoff();
      reason = error.message;
      if (shouldLog()) logger.warn({ code: error.code }, `${reason}; ${who} waits for it`);
    }
  }
  return undefined;
}
