/** `foliopipe run`: begins or continues the whole job. */
import type { Command } from 'commander';
import { enrich } from '../../../pipelines/index.js';
import {
  type BeginOptions,
  beginOptions,
  type Finish,
  withBeginOptions,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import {
  preparationFor,
  type RehearseOptions,
  rehearsalOptions,
  withRehearseOption,
} from '../rehearsal/rehearse.js';
import { runJob } from '../session.js';
import { type TimeOptions, withPartialOption, withTimeOptions } from '../time-options.js';
import { printPlan } from './plan.js';

interface Options extends RehearseOptions, TimeOptions, BeginOptions {
  readonly label?: string;
}

export function addRun(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--new', 'begin a new run even if one is unfinished or done; it is paid for again')
    .option('--label <text>', 'a note kept with a new run')
    .option('--dry-run', 'the same as plan');
  withRehearseOption(
    withOutputOptions(withPartialOption(withTimeOptions(withConfigOptions(withBeginOptions(command))))),
  ).action(async (file: string | undefined, options: Options) => {
    const prepare = preparationFor(options);
    if (options.dryRun) return printPlan(options, file).then(finish);
    const { label, publishPartial = false } = options;
    const job: Parameters<typeof runJob>[2] = (config, rest) =>
      enrich(config, {
        ...rest,
        ...beginOptions(options),
        publishPartial,
        ...(label !== undefined && { label }),
      });
    finish(await runJob(rehearsalOptions(options), file, job, prepare));
  });
}
