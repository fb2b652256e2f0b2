/** `foliopipe publish`: writes the output of a run again from the bought results. */
import type { Command } from 'commander';
import { publish } from '../../../pipelines/index.js';
import { type CommonOptions, type Finish, refuseFileAsRun, withCommonOptions } from '../common-options.js';
import { type CommandWork, runJob } from '../session.js';

export function addPublish(command: Command, finish: Finish): void {
  command
    .argument('<run>', 'id of the run, the beginning of one, or last; see: foliopipe runs')
    .argument('[file]', 'config file');
  withCommonOptions(command).action(async (run: string, file: string | undefined, options: CommonOptions) => {
    refuseFileAsRun('publish', run, file);
    const job: CommandWork = (config, rest) => publish(config, run, rest);
    finish(await runJob(options, file, job, { needs: 'given', isNamed: true }));
  });
}
