/** What `foliopipe enqueue` prints about each pipeline. */
import { formatDuration } from '../../quantities.js';
import { completeCommands } from '../texts/complete-commands.js';
import { asFlags } from '../texts/next-steps.js';

export interface EnqueuedJob {
  readonly pipeline: string;
  readonly state:
    | 'enqueued'
    | 'waiting'
    | 'behind'
    | 'scheduled'
    | 'unscheduled'
    | 'not scheduled'
    | 'removed';
  /** Whether the workers keep a schedule that differs from that of the config. */
  readonly isScheduleStale?: boolean;
  readonly schedule?: string;
  readonly timeZone?: string;
  /** When the schedule begins a run next, epoch milliseconds. */
  readonly next?: number;
  readonly removed?: readonly string[];
  /** Whether a worker works on a job of the pipeline: `--remove` does not stop runs. */
  readonly isWorked?: boolean;
}

/**
 * @param workers how many are alive.
 * @param configs the config files of each pipeline, if the command has read several: the named commands get them.
 */
export function enqueuedText(
  jobs: readonly EnqueuedJob[],
  workers: number,
  configs: ReadonlyMap<string, readonly string[]> = new Map(),
): string {
  const lines = jobs.flatMap((job) => [
    `${job.pipeline}: ${stateText(job)}`,
    ...(job.isScheduleStale === true
      ? [completeCommands(STALE, asFlags({ files: configs.get(job.pipeline) ?? [] }))]
      : []),
  ]);
  const isSent = jobs.some(({ state }) => state === 'enqueued' || state === 'waiting' || state === 'behind');
  const needWorker = jobs.some(({ state }) => state === 'scheduled') || isSent;
  if (workers === 0 && needWorker) lines.push('no worker is running; start one with: foliopipe worker');
  return `${lines.join('\n')}\n${isSent ? 'see the progress with: foliopipe fleet\n' : ''}`;
}

const STALE =
  '  the schedule of its config is not the registered one; register it with: foliopipe enqueue --schedule';

const STAYS =
  '; the run that a worker does now goes on, and its job waits again if the run must be repeated: then use --remove again';

function stateText({ state, schedule, timeZone, next, removed = [], isWorked }: EnqueuedJob): string {
  switch (state) {
    case 'enqueued':
      return 'enqueued; the next free worker does it';
    case 'waiting':
      return 'a job of it was waiting already: it has this config now, and is done next';
    case 'behind':
      return 'enqueued behind the run that a worker does now';
    case 'scheduled':
      return `scheduled at ${schedule} (${timeZone}), next in ${formatDuration(next! - Date.now())}, at ${new Date(next!).toISOString()}`;
    case 'unscheduled':
      return 'no longer scheduled: its config has no schedule';
    case 'not scheduled':
      return 'was not scheduled, and its config has no schedule';
    case 'removed':
      return `${removed.length === 0 ? 'there was nothing to remove' : `removed: ${removed.join(', ')}`}${isWorked ? STAYS : ''}`;
  }
}
