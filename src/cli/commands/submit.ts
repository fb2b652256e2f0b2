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
  withNewOptions,
  withOutputOptions,
} from '../common-options.js';
import { type CommandWork, runJob } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions, BeginOptions {}

export function addSubmit(command: Command, finish: Finish): void {
  withNewOptions(command.argument('[file]', 'config file'));
  withOutputOptions(withTimeOptions(withConfigOptions(withBeginOptions(command)))).action(
    async (file: string | undefined, options: Options) => {
      const job: CommandWork = (config, rest) => submit(config, { ...rest, ...beginOptions(options) });
      finish(await runJob(options, file, job));
    },
  );
}
