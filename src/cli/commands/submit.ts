/** `foliopipe submit`: uploads everything and does not wait for the results. */
import type { Command } from 'commander';
import { submit } from '../../../pipelines/index.js';
import { type CommonOptions, type Finish, withConfigOptions, withOutputOptions } from '../common-options.js';
import { runJob } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions {
  readonly new?: boolean;
  readonly label?: string;
}

export function addSubmit(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--new', 'begin a new run even if one is unfinished or done; it is paid for again')
    .option('--label <text>', 'a note kept with a new run');
  withOutputOptions(withTimeOptions(withConfigOptions(command))).action(
    async (file: string | undefined, options: Options) => {
      const { new: fresh = false, label } = options;
      const job: Parameters<typeof runJob>[2] = (config, rest) =>
        submit(config, { ...rest, fresh, ...(label !== undefined && { label }) });
      finish(await runJob(options, file, job));
    },
  );
}
