/** `foliopipe run`: begins or continues the whole job. */
import type { Command } from 'commander';
import { enrich } from '../../../pipelines/index.js';
import {
  type BeginOptions,
  beginOptions,
  type Finish,
  withBeginOptions,
  withConfigOptions,
  withNewOptions,
  withOutputOptions,
} from '../common-options.js';
import {
  preparationFor,
  type RehearseOptions,
  rehearsalOptions,
  withRehearseOption,
} from '../rehearsal/rehearse.js';
import { type CommandWork, runJob } from '../session.js';
import { type TimeOptions, withPartialOption, withTimeOptions } from '../time-options.js';
import { printPlan } from './plan.js';

interface Options extends RehearseOptions, TimeOptions, BeginOptions {}

export function addRun(command: Command, finish: Finish): void {
  withNewOptions(command.argument('[file]', 'config file')).option('--dry-run', 'the same as plan');
  withRehearseOption(
    withOutputOptions(withPartialOption(withTimeOptions(withConfigOptions(withBeginOptions(command))))),
  ).action(async (file: string | undefined, options: Options) => {
    const prepare = preparationFor(options);
    if (options.dryRun) return printPlan(options, file).then(finish);
    const { publishPartial = false } = options;
    const job: CommandWork = (config, rest) =>
      enrich(config, { ...rest, ...beginOptions(options), publishPartial });
    finish(await runJob(rehearsalOptions(options), file, job, { prepare }));
  });
}
