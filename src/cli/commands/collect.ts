/** `foliopipe collect`: downloads the results of the submitted folios and publishes them. */
import type { Command } from 'commander';
import { collect } from '../../../pipelines/index.js';
import {
  type CommonOptions,
  type Finish,
  withConfigOptions,
  withLimitOption,
  withOutputOptions,
} from '../common-options.js';
import { type CommandWork, runJob } from '../session.js';
import { type TimeOptions, withPartialOption, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions {
  readonly wait: boolean;
  readonly limit?: number;
}

export function addCollect(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--no-wait', 'ask each folio once; exit 10 while one is still processing');
  withOutputOptions(withPartialOption(withTimeOptions(withConfigOptions(withLimitOption(command))))).action(
    async (file: string | undefined, options: Options) => {
      const { wait, publishPartial = false, limit } = options;
      const job: CommandWork = (config, rest) => collect(config, { ...rest, wait, publishPartial, limit });
      finish(await runJob(options, file, job));
    },
  );
}
