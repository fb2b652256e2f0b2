/** `foliopipe worker`: takes enqueued jobs and does their runs. Any number of machines may have one. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import type { Logger } from '../../../pipelines/index.js';
import { openFleet } from '../../fleet/open-fleet.js';
import { openStatusPort } from '../../fleet/status-port.js';
import { fleetTimes } from '../../fleet/times.js';
import { type Worker, type WorkerStatus, work } from '../../fleet/work.js';
import { countOf } from '../../quantities.js';
import { type CommonOptions, wholeNumber, withOutputOptions } from '../common-options.js';
import { findFleet, waitForDatabase, withPlaceOptions } from '../fleet/fleet-place.js';
import { startRun } from '../fleet/start-run.js';
import { printJson } from '../output.js';
import { listenForStop } from '../stop-signals.js';
import { version } from '../texts/page-paths.js';

interface Options extends CommonOptions {
  readonly runs: number;
  readonly port?: number;
  readonly host: string;
}

export function addWorker(command: Command): void {
  command
    .argument('[file]', 'a config that names the state')
    .option(
      '--runs <number>',
      'most runs at the same time, each in a process of its own',
      wholeNumber(1, 1000),
      1,
    )
    .option(
      '--port <number>',
      'answer /healthz and /metrics on this port; 0: any free port',
      wholeNumber(0, 65_535),
    )
    .option('--host <address>', 'address to listen on; 0.0.0.0: all', '127.0.0.1');
  withOutputOptions(withPlaceOptions(command)).action(async (file: string | undefined, options: Options) => {
    await runWorker(file, options);
  });
}

async function runWorker(file: string | undefined, options: Options): Promise<void> {
  const { state, scratchDir, fleetOptions } = await findFleet(options, file);
  const { logger } = fleetOptions;
  const facts = {
    host: hostname(),
    pid: process.pid,
    version,
    node: process.versions.node,
    runs: options.runs,
  };
  const stop = listenForStop(
    (name) =>
      logger.warn(
        {},
        `${name}: the worker takes no more jobs, and hands back its runs. Send ${name} again to stop at once.`,
      ),
    ({ code, exitCode, message }) => {
      logger.error({ type: 'failure', code, exitCode }, `${message} again: this process ends at once`);
    },
  );
  let port: Awaited<ReturnType<typeof openStatusPort>> | undefined;
  try {
    const fleet = await waitForDatabase(() => openFleet(state, fleetOptions, 'worker'), {
      who: 'the worker',
      signal: stop.signal,
      logger,
    });
    if (fleet === undefined) return await endWorker({ done: 0, again: 0, person: 0 }, options, logger);
    try {
      const { logLevel } = options;
      let worker: Worker | undefined;
      // Opened first: a worker that cannot listen must not take a job, because no other worker can do that job until it
      // is given back.
      if (options.port !== undefined) {
        const place = { host: options.host, port: options.port };
        port = await openStatusPort(place, fleet, () => worker!.status());
      }
      worker = work({
        ...fleet,
        id: randomUUID(),
        facts,
        start: (job) => startRun(job, { scratchDir, state: state.reveal(), logger, logLevel }),
        times: fleetTimes(),
        logger,
        signal: stop.signal,
      });
      const where = port === undefined ? '' : `; its health and metrics: ${port.address}`;
      logger.info(
        { ...facts, port: port?.port ?? null },
        `worker ${facts.host} ${facts.pid}: up to ${countOf(facts.runs, 'run')} at once of ${state}${where}`,
      );
      await worker.done;
      return await endWorker(worker.status().ended, options, logger);
    } finally {
      await fleet.close();
    }
  } finally {
    await port?.close();
    stop.close();
  }
}

async function endWorker(ended: WorkerStatus['ended'], { json }: Options, logger: Logger): Promise<void> {
  logger.info({ ...ended }, 'the worker has stopped');
  if (json) await printJson('summary', { ended, exitCode: 0 });
}
