/** The flags about time of the commands that work on a run: when to stop, and how long to wait for the lock. */
import type { Command } from 'commander';
import { ConfigError, type Logger, type RunOptions } from '../../pipelines/index.js';
import { parseDeadline, parseMaxDuration } from './deadline.js';
import { formatSpan, parseSpan } from './format.js';

export interface TimeOptions {
  readonly deadline?: string;
  readonly maxDuration?: string;
  /** `true` without a value: as long as it takes. */
  readonly waitLock?: string | true;
  readonly publishPartial?: boolean;
}

export function withTimeOptions(command: Command): Command {
  return command
    .option(
      '--deadline <time>',
      'stop then, resumably, with exit 8: an instant with its zone, or a time of day',
    )
    .option('--max-duration <time>', 'the same, so long after the start: 6h, 90m')
    .option(
      '--wait-lock [time]',
      'wait for another run of this pipeline to end, at most so long; else exit 11',
    );
}

/** Only for commands that publish. */
export function withPartialOption(command: Command): Command {
  return command.option(
    '--publish-partial',
    'at the deadline, publish what is done; the rest is UNPROCESSED, and the run goes on another time',
  );
}

/** Says the deadline as it is understood. @throws ConfigError `USAGE`. */
export function readTimeOptions(
  options: TimeOptions,
  logger: Logger,
): Pick<RunOptions, 'deadline' | 'waitLock'> {
  const now = new Date();
  const deadlines = [
    ...(options.deadline === undefined ? [] : [parseDeadline(options.deadline, now)]),
    ...(options.maxDuration === undefined ? [] : [parseMaxDuration(options.maxDuration, now)]),
  ];
  if (options.publishPartial && deadlines.length === 0) {
    throw new ConfigError('USAGE', '--publish-partial: there is no deadline at which to publish', {
      hint: 'add --deadline or --max-duration',
    });
  }
  const deadline = deadlines.length === 0 ? undefined : Math.min(...deadlines);
  if (deadline !== undefined) {
    const instant = new Date(deadline).toISOString();
    logger.info({ deadline: instant }, `deadline ${instant}, in ${formatSpan(deadline - now.getTime())}`);
  }
  return {
    ...(deadline !== undefined && { deadline }),
    ...(options.waitLock !== undefined && { waitLock: parseWait(options.waitLock) }),
  };
}

function parseWait(text: string | true): number {
  if (text === true) return Number.POSITIVE_INFINITY;
  const span = parseSpan(text);
  if (span !== undefined) return span;
  throw new ConfigError('USAGE', `--wait-lock ${text}: expected a duration`, { hint: 'such as 30m' });
}
