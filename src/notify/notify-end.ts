/**
 * Reports the end of a command on a run to those that the config names under `report`. A report that fails is logged as
 * a warning, and never changes how the command ends.
 */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Proxies } from '../api/http-client.js';
import { type PostTimes, postJson } from '../api/post-json.js';
import { checkCall } from '../check-call.js';
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { diskError } from '../disk-error.js';
import type { Logger } from '../logger.js';
import { guardLogger } from '../progress/guard-listeners.js';
import { formatDuration } from '../quantities.js';
import { codeOf } from '../streams/system-error.js';
import { presentTexts } from '../text.js';
import { isEnd, type RunEnd } from './run-end.js';
import { writeTextfile } from './write-textfile.js';

/** How an end is reported. */
export interface NotifyOptions {
  /** Where earlier successes are looked up; null where the state cannot be read. */
  readonly reader: Pick<CheckpointReader, 'runs'> | null;
  /** Default: nothing tells of a report that fails. */
  readonly logger?: Pick<Logger, 'warn' | 'info' | 'debug'> | undefined;
  /** If it has aborted before, the webhook is tried once, for a short time. If it aborts later, the tries end soon. */
  readonly signal?: AbortSignal | undefined;
  readonly proxies?: Proxies | undefined;
  /** How long the webhook is tried. Default: 30 s in all, 10 s a try. */
  readonly times?: PostTimes | undefined;
}

/** The keys that say where an end is reported, without those that are null. */
export function receiversOf({ textfile, webhook }: Config['report']): readonly string[] {
  return presentTexts([textfile !== null && 'report.textfile', webhook !== null && 'report.webhook']);
}

const USUAL: PostTimes = { attempt: 10_000, all: 30_000, firstRetry: 1_000 };

/** After a signal, because a scheduler kills the process soon. */
const HURRIED: PostTimes = { attempt: 3_000, all: 3_000, firstRetry: 3_000 };

/**
 * Writes `report.textfile`, then posts to `report.webhook`. The command line calls it once for each command. The library
 * never calls it; a program that embeds foliopipe may.
 */
export async function notifyEnd(
  config: Pick<Config, 'report'>,
  end: RunEnd,
  options: NotifyOptions,
): Promise<void> {
  checkCall('notifyEnd', { report: config?.report, end, needs: options });
  const { textfile, webhook } = config.report;
  const { reader, signal, proxies = {}, times = USUAL } = options;
  const logger = guardLogger(options.logger as Logger | undefined);
  if (!isEnd(end)) return;
  const { run, outcome } = end;
  if (textfile !== null) {
    await writeTextfile(textfile, end, reader).catch((error: unknown) => {
      logger.warn(
        { run, key: 'report.textfile', path: textfile },
        `report.textfile ${textfile} is not written: ${whyUnwritten(error, textfile)}`,
      );
    });
  }
  if (webhook === null) return;
  const isStopped = signal?.aborted === true;
  try {
    await postJson({
      address: webhook,
      id: end.id,
      body: JSON.stringify(end),
      proxies,
      times: isStopped ? HURRIED : times,
      signal: signal === undefined || isStopped ? new AbortController().signal : signal,
      onRetry: (why) => {
        const time = formatDuration(times.all);
        logger.info({ run, why }, `report.webhook (${webhook}): ${why}; this is tried again for ${time}`);
      },
    });
    logger.debug({ run, outcome }, `report.webhook is told: ${outcome}`);
  } catch (error) {
    const { message } = error as Error;
    logger.warn(
      { run, key: 'report.webhook' },
      `report.webhook (${webhook}) is not told that the run ended (${outcome}): ${message}`,
    );
  }
}

function whyUnwritten(error: unknown, path: string): string {
  const isMissing = codeOf(error) === 'ENOENT';
  // A folder such as /proc exists, and takes no files.
  if (isMissing && existsSync(dirname(path))) return `no file can be made in ${dirname(path)}`;
  if (isMissing) return `the folder ${dirname(path)} does not exist`;
  return diskError(error, path)?.message ?? (error as Error).message;
}
