/** Commands and flags of the contract whose feature is not built yet: refused with a sentence, never ignored. */
import type { Command } from 'commander';
import { ConfigError } from '../../pipelines/index.js';

const laterCommands: Readonly<Record<string, string>> = {
  retry: 'send the failed records of a run again',
  report: 'reports on runs',
  init: 'write a first config',
};

const laterFlags: readonly { readonly flag: string; readonly name: string }[] = [
  { flag: '--rehearse [scene]', name: 'rehearse' },
];

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

/** Adds the flags without showing them in the help. */
export function withLaterRunFlags(command: Command): Command {
  for (const { flag } of laterFlags) {
    command.addOption(command.createOption(flag, 'comes with a later release').hideHelp());
  }
  return command;
}

/** @throws ConfigError when one of the flags was given. */
export function refuseLaterFlags(options: object): void {
  for (const { flag, name } of laterFlags) if (name in options) refuse(flag.split(' ')[0]!);
}

function refuse(what: string): never {
  throw new ConfigError('NOT_YET', `${what} comes with a later release of foliopipe`, {
    hint: 'see what there is with: foliopipe --help',
  });
}
