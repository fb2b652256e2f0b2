/**
 * Checks before a run pays that the process may open as many files and connections as the run needs at the same time.
 * At the limit, a run could fail in the middle of work that is paid for.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import { codeOf } from '../../streams/system-error.js';

/** The lock, the checkpoint and its reader, the journal, the source, the work file, the log, and some to spare. */
const OWN_FILES = 14;
/** The embedded service: its database, its address, and some to spare. */
const SERVICE_FILES = 4;

/** How many files the process has open, and how many it may open. */
interface OpenFiles {
  readonly open: number;
  readonly limit: number;
}

/**
 * @param files undefined if the system does not say: then nothing is checked.
 * @throws ConfigError `OPEN_FILES_LIMIT` with the figures.
 */
export function checkOpenFiles(
  config: Pick<Config, 'concurrency' | 'service'>,
  files: OpenFiles | undefined = countOpenFiles(),
): void {
  if (files === undefined) return;
  const { open, limit } = files;
  const needed = open + OWN_FILES + filesAtOnce(config);
  if (needed <= limit) return;
  throw new ConfigError(
    'OPEN_FILES_LIMIT',
    `the limit of open files is ${limit}, and this run needs up to ${needed}; nothing was sent`,
    {
      hint: 'raise it, for example with: ulimit -n 1024 (LimitNOFILE= of a systemd unit), or lower concurrency.*; then run the same command again',
      facts: { limit, needed, open },
    },
  );
}

/** Files and connections of all uploads, polls and downloads that may work at the same time. */
function filesAtOnce({ concurrency, service }: Pick<Config, 'concurrency' | 'service'>): number {
  const { uploads, folios, downloads } = concurrency;
  const polls = Math.min(folios + 1, Math.ceil(service.requestsPerSecond));
  const connections = uploads + polls + downloads;
  // The embedded service holds the other end of each connection, and the file that arrives.
  const other = service.embedded ? connections + uploads + SERVICE_FILES : 0;
  return connections + uploads + downloads + other;
}

/**
 * How many files this process has open and may have, on Linux. Other systems have high limits, or Node raises its own.
 * @returns undefined where `/proc` does not say it.
 */
export function countOpenFiles(): OpenFiles | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, limit = ''] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
    const count = limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit || Number.NaN);
    return Number.isNaN(count) ? undefined : { open: readdirSync('/proc/self/fd').length, limit: count };
  } catch (error) {
    if (codeOf(error) === 'EMFILE') throw error;
    return undefined;
  }
}
