/** `foliopipe submit`: uploads everything and does not wait for the results. */
import type { Command } from 'commander';
import { submit } from '../../../pipelines/index.js';
import {
  type BeginOptions,
  beginOptions,
  type CommonOptions,
  type Finish,
  withBeginOptions,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { runJob } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions, BeginOptions {
  readonly label?: string;
}

export function addSubmit(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--new', 'begin a new run even if one is unfinished or done; it is paid for again')
    .option('--label <text>', 'a note kept with a new run');
  withOutputOptions(withTimeOptions(withConfigOptions(withBeginOptions(command)))).action(
    async (file: string | undefined, options: Options) => {
      const { label } = options;
      const job: Parameters<typeof runJob>[2] = (config, rest) =>
        submit(config, { ...rest, ...beginOptions(options), ...(label !== undefined && { label }) });
      finish(await runJob(options, file, job));
    },
  );
}
