/** `foliopipe fleet`: shows workers, runs, waiting jobs, schedules and dead letters. */
import type { Command } from 'commander';
import { ConfigError } from '../../../pipelines/index.js';
import { type OpenFleet, openFleetToLook } from '../../fleet/open-fleet.js';
import { type FleetFacts, readFleet } from '../../fleet/read-fleet.js';
import { pause, untilStopped } from '../../fleet/times.js';
import { type CommonOptions, withOutputOptions } from '../common-options.js';
import { findFleet, LOOK_MS, waitForDatabase, withPlaceOptions } from '../fleet/fleet-place.js';
import { fleetText } from '../fleet/fleet-text.js';
import { print, printJson, stdout } from '../output.js';
import { listenForStop } from '../stop-signals.js';
import { nextSteps } from '../texts/next-steps.js';

interface Options extends CommonOptions {
  readonly watch?: boolean;
}

const NOTHING: FleetFacts = { workers: [], runs: [], waiting: [], schedules: [], deadLetters: [] };

export function addFleet(command: Command): void {
  command
    .argument('[file]', 'a config that names the state')
    .option('--watch', 'print it again whenever something changes, until a signal ends it');
  withOutputOptions(withPlaceOptions(command)).action(async (file: string | undefined, options: Options) => {
    if (options.json && options.watch) {
      throw new ConfigError('USAGE', '--watch and --json exclude each other', {
        hint: 'a program asks again when it wants to know: foliopipe fleet --json',
      });
    }
    const { state, fleetOptions } = await findFleet(options, file);
    const stop = listenForStop(() => undefined);
    let fleet: OpenFleet | undefined;
    const look = async (): Promise<FleetFacts> => {
      // There is no fleet before the first worker or job of the state.
      fleet ??= await openFleetToLook(state, fleetOptions);
      return fleet === undefined ? NOTHING : readFleet(fleet);
    };
    /** Waits while the database does not answer, so that the watch survives an outage. */
    const lookOn = () => {
      const { logger } = fleetOptions;
      const lookOnce = () => untilStopped(look(), stop.signal, () => undefined);
      return waitForDatabase(lookOnce, { who: 'fleet', signal: stop.signal, logger });
    };
    try {
      for (let shown = ''; ; ) {
        const facts = shown === '' ? await look() : await lookOn();
        if (facts === undefined) break;
        const text = nextSteps(fleetText(facts, Date.now()));
        if (options.json) await printJson('summary', { ...facts, exitCode: 0 });
        else if (withoutTimes(text) !== shown) await print(text);
        shown = withoutTimes(text);
        if (options.watch !== true || stop.signal.aborted || stdout.lost !== undefined) break;
        await pause(LOOK_MS, stop.signal);
        if (stop.signal.aborted) break;
      }
    } finally {
      await fleet?.close();
      stop.close();
    }
  });
}

/** The text without durations, which change although nothing has happened. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\d+(?:\.\d+)? ?(?:ms|s|m|h|d)\b/g, '');
}
