/** `foliopipe runs prune`: removes the results of old runs; their costs stay in the ledger. */
import type { Command } from 'commander';
import { type Config, ConfigError, type Pruned, type PrunedRun, prune } from '../../../pipelines/index.js';
import { countOf, formatBytes, formatDuration } from '../../quantities.js';
import { quoteForShell } from '../../text.js';
import { type CommonOptions, lockHolder, readConfig, withCommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { isConfirmed, isInteractive } from '../init/ask.js';
import { print, printList } from '../output.js';
import { parseAge } from '../time-options.js';

interface Options extends CommonOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addPrune(runs: Command): void {
  const command = runs
    .command('prune')
    .description('remove the results of runs of this pipeline that ended long ago; outputs stay')
    .argument('[file]', 'config file')
    .option('--older-than <time>', 'only runs that ended longer ago, such as 7d; default: retention.results')
    .option('--dry-run', 'only show what would be removed')
    .option('--yes', 'do not ask before results are removed that retention.results keeps');
  withCommonOptions(command).action(async (file: string | undefined, _: object, self: Command) => {
    // `runs` has the same flags: they may be given before or after `prune`.
    await pruneNow(self.optsWithGlobals<Options>(), file);
  });
}

async function pruneNow(options: Options, file: string | undefined): Promise<void> {
  const olderThan = options.olderThan === undefined ? undefined : parseAge(options.olderThan);
  const config = await readConfig(options, file, 'nothing');
  const { dryRun = false, yes = false } = options;
  const logger = createLogger(options);
  const remove = (isDry: boolean) =>
    prune(config, { dryRun: isDry, olderThan, logger, holder: lockHolder() });
  const isMore = olderThan !== undefined && olderThan < config.retention.results;
  if (isMore && !dryRun && !yes && !(await mayRemove(await remove(true), config, options))) {
    await print('nothing was removed\n');
    return;
  }
  const { runs, unknown } = await remove(dryRun);
  const fields = { runs: runs.length, bytes: bytesOf(runs), unknown, dryRun, exitCode: 0 };
  await printList(options, 'run', runs, fields, textOf(runs, unknown, dryRun));
}

/**
 * Asks before results are removed that `retention.results` keeps: they cannot be published or retried again.
 * @throws ConfigError `PRUNE_UNCONFIRMED` if there is nobody to ask.
 */
async function mayRemove({ runs }: Pruned, { retention }: Config, options: Options): Promise<boolean> {
  const keptSince = Date.now() - retention.results;
  const results = runs.filter(({ finishedAt }) => finishedAt !== null && finishedAt >= keptSince);
  if (results.length === 0) return true;
  const age = options.olderThan!;
  const what = `the results of ${countOf(results.length, 'run')} (${formatBytes(bytesOf(results))}) that retention.results (${formatDuration(retention.results)}) keeps`;
  if (!isInteractive() || options.json) {
    const typed = quoteForShell(age);
    throw new ConfigError('PRUNE_UNCONFIRMED', `--older-than ${age} would remove ${what}`, {
      hint: `nothing was removed: such runs can no longer be published again or retried; to remove them: foliopipe runs prune --older-than ${typed} --yes; to see them: foliopipe runs prune --older-than ${typed} --dry-run`,
      facts: { runs: results.length },
    });
  }
  const text = `Remove ${what}? They can no longer be published again or retried.`;
  return isConfirmed(text, 'nothing was removed');
}

function textOf(runs: readonly PrunedRun[], unknown: readonly string[], dryRun: boolean): string {
  const lines = runs.map(({ run, state, finishedAt, bytes }) => {
    const age = finishedAt === null ? '' : `, ${formatDuration(Date.now() - finishedAt)} ago`;
    return `${run}  ${state}${age}  ${formatBytes(bytes)}`;
  });
  const done = dryRun ? 'would be removed' : 'removed';
  const strays = unknown.map((folder) => `${folder} belongs to no run: look into it, and remove it by hand`);
  return `${[...lines, `results of ${countOf(runs.length, 'run')} ${done}, ${formatBytes(bytesOf(runs))}`, ...strays].join('\n')}\n`;
}

function bytesOf(runs: readonly PrunedRun[]): number {
  return runs.reduce((sum, { bytes }) => sum + bytes, 0);
}
