/** `foliopipe enqueue`: gives runs to the workers as jobs, now or at the times of the config's schedule. */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { refuseStateInFolder } from '../../../pipelines/index.js';
import type { RunFlags } from '../../fleet/job.js';
import { nextTime } from '../../fleet/next-time.js';
import { type OpenFleet, openFleet } from '../../fleet/open-fleet.js';
import { loadPgBoss } from '../../fleet/pg-boss.js';
import { type PreparedJob, prepareJob } from '../../fleet/prepare-job.js';
import { isAlive } from '../../fleet/read-fleet.js';
import { secretsOf } from '../../hide-secrets.js';
import { type CommonOptions, layersOf, usage, withCommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { type EnqueuedJob, enqueuedText } from '../fleet/enqueue-text.js';
import { findFleet } from '../fleet/fleet-place.js';
import { printResult } from '../output.js';
import { rememberSecrets } from '../redact.js';
import { rememberConfig } from '../texts/next-steps.js';
import { parseMaxDuration } from '../time-options.js';

interface Options extends CommonOptions, RunFlags {
  readonly schedule?: boolean;
  readonly again?: boolean;
  readonly dismiss?: boolean;
  readonly remove?: boolean;
}

export function addEnqueue(command: Command): void {
  command
    .argument(
      '[config...]',
      'config files, each of another pipeline and read after those of -c; with --again, --dismiss or --remove: names of pipelines',
    )
    .option(
      '--schedule',
      'from now on, begin runs at the times of the config key schedule; without that key, end the schedule. Nothing runs now',
    )
    .option(
      '--again',
      'run dead letters (jobs that wait for a person) again, with their own configs and the flags of run that you add; without a name: all of them',
    )
    .option('--dismiss', 'remove the dead letters of these pipelines, because somebody has looked at them')
    .option('--remove', 'remove the waiting jobs, the schedules and the dead letters of these pipelines')
    .option('--yes', 'as for run')
    .option('--label <text>', 'as for run: a note kept with a new run')
    .option(
      '--max-duration <time>',
      'as for run: stop after this time with exit 8; the job is repeated after a pause',
    )
    .option('--publish-partial', 'as for run');
  withCommonOptions(command).action(enqueue);
}

async function enqueue(named: readonly string[], options: Options): Promise<void> {
  await loadPgBoss(process.versions.node);
  const { again = false, dismiss = false, remove = false, schedule = false } = options;
  if ([again, dismiss, remove, schedule].filter(Boolean).length > 1) {
    throw usage('--again, --dismiss, --remove and --schedule exclude each other', 'give one of them');
  }
  if ((remove || dismiss) && named.length === 0) {
    throw usage(
      `--${remove ? 'remove' : 'dismiss'} needs names of pipelines`,
      'see what waits with: foliopipe fleet',
    );
  }
  const flags = runFlags(options);
  if ((remove || dismiss) && Object.keys(flags).length > 0) {
    throw usage('--remove and --dismiss begin no run, so they take no flags of run', 'leave those flags out');
  }
  const { done, workers, configs } = await (again
    ? withFleet(options, (fleet) => putBack(fleet, named, flags))
    : remove || dismiss
      ? withFleet(options, (fleet) => removeAll(fleet, named, dismiss))
      : enqueueConfigs(named, flags, options));
  await printResult(options, { jobs: done, workers, exitCode: 0 }, enqueuedText(done, workers, configs));
}

/** What was done, and how many workers are alive. */
interface Done {
  readonly done: readonly EnqueuedJob[];
  readonly workers: number;
  /** The config files of each pipeline, if there are several. */
  readonly configs?: ReadonlyMap<string, readonly string[]>;
}

type Use = (fleet: OpenFleet) => Promise<readonly EnqueuedJob[]>;

async function withFleet(options: Options, use: Use): Promise<Done> {
  const { state, fleetOptions } = await findFleet(options, undefined);
  return useFleet(await openFleet(state, fleetOptions), use);
}

async function useFleet(fleet: OpenFleet, use: Use): Promise<Done> {
  try {
    const done = await use(fleet);
    const alive = (await fleet.tables.workers()).filter(isAlive);
    return { done, workers: alive.length };
  } finally {
    await fleet.close();
  }
}

/** The flags of `run` that are stored in the job. */
function runFlags({ yes, label, maxDuration, publishPartial }: Options): RunFlags {
  if (maxDuration !== undefined) parseMaxDuration(maxDuration, new Date());
  return {
    ...(yes === true && { yes }),
    ...(label !== undefined && { label }),
    ...(maxDuration !== undefined && { maxDuration }),
    ...(publishPartial === true && { publishPartial }),
  };
}

async function enqueueConfigs(named: readonly string[], flags: RunFlags, options: Options): Promise<Done> {
  const prepared: PreparedJob[] = [];
  const configs = new Map<string, readonly string[]>();
  for (const file of named.length === 0 ? [undefined] : named) {
    if (file !== undefined && named.length > 1) rememberConfig(file);
    const one = await prepareJob(layersOf(options, file, 'nothing'), flags, hostname());
    await refuseStateInFolder(one.config);
    prepared.push(one);
    if (file !== undefined && named.length > 1) {
      configs.set(one.job.pipeline, [...(options.config ?? []), file]);
    }
  }
  const state = expectOneState(prepared);
  rememberSecrets(prepared.flatMap(({ config }) => secretsOf(config)));
  const logger = createLogger(options);
  const fleet = await openFleet(state, { node: process.versions.node, logger });
  const sent = await useFleet(fleet, async () => {
    const done: EnqueuedJob[] = [];
    for (const one of prepared) done.push(await (options.schedule ? register(fleet, one) : send(fleet, one)));
    return done;
  });
  return { ...sent, configs };
}

/** @throws ConfigError `USAGE` unless all jobs have the same state, and each has another pipeline. */
function expectOneState(prepared: readonly PreparedJob[]): PreparedJob['state'] {
  const [first, ...others] = prepared.map(({ state }) => state);
  if (others.some((state) => state.reveal() !== first!.reveal())) {
    throw usage('these configs have different states', 'enqueue them one by one');
  }
  const pipelines = prepared.map(({ job }) => job.pipeline);
  const twice = pipelines.find((name, at) => pipelines.indexOf(name) !== at);
  if (twice === undefined) return first!;
  throw usage(`two of these configs are of the pipeline ${twice}`, 'name layers of one config with -c');
}

async function send({ queue }: OpenFleet, { job, config }: PreparedJob): Promise<EnqueuedJob> {
  const state = await queue.enqueue(job);
  const known = (await queue.schedules()).find(({ pipeline }) => pipeline === job.pipeline);
  const isStale =
    (known?.cron ?? null) !== config.schedule || (known !== undefined && known.timeZone !== config.timeZone);
  return { pipeline: job.pipeline, state, isScheduleStale: isStale };
}

async function register({ queue }: OpenFleet, { job, config }: PreparedJob): Promise<EnqueuedJob> {
  const { pipeline, schedule, timeZone } = config;
  if (schedule === null) {
    return { pipeline, state: (await queue.unschedule(pipeline)) ? 'unscheduled' : 'not scheduled' };
  }
  await queue.schedule(job, schedule, timeZone);
  return {
    pipeline,
    state: 'scheduled',
    schedule,
    timeZone,
    next: nextTime(schedule, timeZone, Date.now())!,
  };
}

/** @param flags added to those that the jobs have. */
async function putBack(
  { queue }: OpenFleet,
  named: readonly string[],
  flags: RunFlags,
): Promise<readonly EnqueuedJob[]> {
  const letters = await queue.deadLetters();
  const unknown = named.find((name) => !letters.some(({ pipeline }) => pipeline === name));
  if (unknown !== undefined) {
    throw usage(`no run of ${unknown} waits for a person`, 'see those that do with: foliopipe fleet');
  }
  const done: EnqueuedJob[] = [];
  for (const { problem: _, ...job } of letters) {
    if (named.length > 0 && !named.includes(job.pipeline)) continue;
    done.push({
      pipeline: job.pipeline,
      state: await queue.enqueue({ ...job, flags: { ...job.flags, ...flags } }),
    });
  }
  return done;
}

async function removeAll(
  { queue }: OpenFleet,
  named: readonly string[],
  isDismissed: boolean,
): Promise<readonly EnqueuedJob[]> {
  const done: EnqueuedJob[] = [];
  const stays = isDismissed ? [] : await queue.worked();
  const worked = new Set(stays.map(({ job }) => job.pipeline));
  for (const pipeline of named) {
    const dismiss = async () => ((await queue.dismiss(pipeline)) ? (['dead letter'] as const) : []);
    const removed = await (isDismissed ? dismiss() : queue.remove(pipeline));
    done.push({ pipeline, state: 'removed', removed, isWorked: worked.has(pipeline) });
  }
  return done;
}
