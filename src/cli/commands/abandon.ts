/** `foliopipe abandon`: gives up a folio that the service never finishes, so that its run can end. */
import type { Command } from 'commander';
import { type AbandonedChunk, abandon, adoptCommand, outcomeText } from '../../../pipelines/index.js';
import { countOf, formatAmount } from '../../quantities.js';
import {
  type CommonOptions,
  chunkNumber,
  lockHolder,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { printResult } from '../output.js';
import { rememberUnfinishedRun } from '../session.js';
import { withStopSignal } from '../stop-signals.js';
import { readTimeOptions, type TimeOptions, withWaitOption } from '../time-options.js';

interface Options extends CommonOptions, Pick<TimeOptions, 'waitLock'> {
  readonly run: string;
  readonly chunk: number;
  readonly yes?: boolean;
}

export function addAbandon(command: Command): void {
  command
    .argument('[file]', 'config file')
    .requiredOption('--run <id>', 'the run that the chunk belongs to: an id, the beginning of one, or last')
    .requiredOption('--chunk <number>', 'its number, as foliopipe status shows it', chunkNumber)
    .option('--yes', 'also give up a chunk whose answers are downloaded, for example after exit 6');
  withOutputOptions(withWaitOption(withConfigOptions(command))).action(
    async (file: string | undefined, options: Options) => {
      const config = await readConfig(options, file, 'nothing');
      await rememberUnfinishedRun(config);
      const logger = createLogger(options);
      const { run, chunk, yes } = options;
      const times = readTimeOptions(options, logger);
      const abandoned = await withStopSignal((signal) =>
        abandon(config, { run, chunk }, { ...times, logger, signal, yes, holder: lockHolder() }),
      );
      await printResult(options, { ...abandoned, exitCode: 0 }, abandonedText(abandoned));
    },
  );
}

function abandonedText(abandoned: AbandonedChunk): string {
  const { run, chunk, folio, records, amount, currency, rehearsal, sample, already } = abandoned;
  const limit = sample === null ? '' : ` --limit ${sample}`;
  const price = amount === null ? '' : `, ${formatAmount(amount)} ${currency}`;
  const cost = rehearsal ? 'a rehearsal, so nothing was paid' : `paid in vain so far${price}`;
  const lines = [
    `${rehearsal ? 'rehearsal' : 'run'} ${run}: folio ${folio} of chunk ${chunk} ${already ? 'was given up already' : 'is given up'}; ${countOf(records, 'record')}, ${cost}`,
    `  go on with: foliopipe run${limit}, which does not wait for it: ${outcomeText(abandoned)} (FOLIO_ABANDONED)`,
    `  once the service has finished or corrected it, bind it again: ${adoptCommand(run, chunk, folio)}`,
  ];
  return `${lines.join('\n')}\n`;
}
