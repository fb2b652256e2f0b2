/** `foliopipe recover`: rebuilds a lost checkpoint of all pipelines in the state folder, without the service. */
import type { Command } from 'commander';
import { recover } from '../../../pipelines/index.js';
import {
  type CommonOptions,
  type Finish,
  lockHolder,
  readConfig,
  withCommonOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { printList } from '../output.js';
import { isAnyLost, rebuiltText } from '../texts/rebuilt-text.js';

interface Options extends CommonOptions {
  readonly dryRun?: boolean;
}

export function addRecover(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file').option('--dry-run', 'only show what would be rebuilt');
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file, 'nothing');
    const { dryRun = false } = options;
    const recovered = await recover(config, {
      dryRun,
      logger: createLogger(options),
      holder: lockHolder(),
    });
    const exitCode = isAnyLost(recovered) ? 2 : 0;
    const { runs, ...rest } = recovered;
    const fields = { ...rest, runs: runs.length, dryRun, exitCode };
    await printList(options, 'run', runs, fields, rebuiltText(recovered, config, dryRun));
    finish(exitCode);
  });
}
