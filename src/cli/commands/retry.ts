/** `foliopipe retry`: sends the failed records of a finished run again. */
import { type Command, Option } from 'commander';
import { type RetryOptions, retry } from '../../../pipelines/index.js';
import {
  type CommonOptions,
  type Finish,
  refuseFileAsRun,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { runJob } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions {
  readonly by?: NonNullable<RetryOptions['by']>;
}

export function addRetry(command: Command, finish: Finish): void {
  command
    .argument('<run>', 'id of the run, the beginning of one, or last; see: foliopipe runs')
    .argument('[file]', 'config file')
    .addOption(
      new Option(
        '--by <way>',
        'upload: in files, once; search: one by one; by default as failures.rescue says',
      ).choices(['upload', 'search']),
    );
  withOutputOptions(withTimeOptions(withConfigOptions(command))).action(
    async (run: string, file: string | undefined, options: Options) => {
      refuseFileAsRun('retry', run, file);
      const { by } = options;
      finish(
        await runJob(options, file, (config, rest) =>
          retry(config, run, { ...rest, ...(by !== undefined && { by }) }),
        ),
      );
    },
  );
}
