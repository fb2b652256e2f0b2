/** `foliopipe runs prune`: removes the results of old runs; their costs stay in the ledger. */
import type { Command } from 'commander';
import { ConfigError, type PrunedRun, prune } from '../../../pipelines/index.js';
import { countOf, formatBytes, formatDuration, parseDuration } from '../../quantities.js';
import {
  type CommonOptions,
  type Finish,
  lockHolder,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { print, printJson } from '../output.js';

interface Options extends CommonOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
}

export function addPrune(runs: Command, finish: Finish): void {
  const command = runs
    .command('prune')
    .description('remove the results of runs of this pipeline that ended long ago; outputs stay')
    .argument('[file]', 'config file')
    .option('--older-than <time>', 'least time since a run ended, such as 7d; by default retention.results')
    .option('--dry-run', 'only show what would be removed');
  withOutputOptions(withConfigOptions(command)).action(
    async (file: string | undefined, _: object, self: Command) => {
      // `runs` has the same flags: they may be given before or after `prune`.
      finish(await pruneNow(self.optsWithGlobals<Options>(), file));
    },
  );
}

async function pruneNow(options: Options, file: string | undefined): Promise<number> {
  const olderThan = options.olderThan === undefined ? undefined : parseAge(options.olderThan);
  const config = await readConfig(options, file, 'nothing');
  const { dryRun = false } = options;
  const { runs, unknown } = await prune(config, {
    dryRun,
    ...(olderThan !== undefined && { olderThan }),
    logger: createLogger(options, []),
    holder: lockHolder(),
  });
  if (options.json) {
    for (const run of runs) await printJson('run', run);
    await printJson('summary', { runs: runs.length, bytes: bytesOf(runs), unknown, dryRun, exitCode: 0 });
  } else await print(textOf(runs, unknown, dryRun));
  return 0;
}

function textOf(runs: readonly PrunedRun[], unknown: readonly string[], dryRun: boolean): string {
  const lines = runs.map(({ run, state, finishedAt, bytes }) => {
    const age = finishedAt === null ? '' : `, ${formatDuration(Date.now() - finishedAt)} ago`;
    return `${run}  ${state}${age}  ${formatBytes(bytes)}`;
  });
  const done = dryRun ? 'would be removed' : 'removed';
  const strays = unknown.map((folder) => `${folder} belongs to no run; check it, and remove it by hand`);
  return `${[...lines, `results of ${countOf(runs.length, 'run')} ${done}, ${formatBytes(bytesOf(runs))}`, ...strays].join('\n')}\n`;
}

function bytesOf(runs: readonly PrunedRun[]): number {
  return runs.reduce((sum, { bytes }) => sum + bytes, 0);
}

function parseAge(text: string): number {
  const age = parseDuration(text);
  if (age !== undefined) return age;
  throw new ConfigError('USAGE', `--older-than ${text}: expected a duration`, { hint: 'such as 7d' });
}
