/** Commands of the contract whose feature is not built yet: refused with a sentence, never ignored. */
import type { Command } from 'commander';
import { ConfigError } from '../errors/index.js';

export function addLater(command: Command): void {
  command
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new ConfigError('NOT_YET', `foliopipe ${command.name()}: ${command.description()}`, {
        hint: 'see what there is with: foliopipe --help',
      });
    });
}
