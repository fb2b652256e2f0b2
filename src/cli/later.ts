/** Commands of the contract whose feature is not built yet: refused with a sentence, never ignored. */
import type { Command } from 'commander';
import { ConfigError } from '../../pipelines/index.js';

const laterCommands: Readonly<Record<string, string>> = {
  report: 'reports on runs',
  init: 'write a first config',
};

export function addLaterCommands(program: Command): void {
  for (const [name, purpose] of Object.entries(laterCommands)) {
    program
      .command(name, { hidden: true })
      .description(`${purpose} (comes with a later release)`)
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => refuse(`foliopipe ${name}: to ${purpose}`));
  }
}

function refuse(what: string): never {
  throw new ConfigError('NOT_YET', `${what} comes with a later release of foliopipe`, {
    hint: 'see what there is with: foliopipe --help',
  });
}
