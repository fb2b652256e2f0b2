/** The commands and their help, in the order in which people need them. */
import { Command } from 'commander';
import { addAdopt } from './adopt.js';
import { addCheck } from './check.js';
import { addCollect } from './collect.js';
import type { Finish } from './finish.js';
import { addLaterCommands } from './later.js';
import { addLedger } from './ledger.js';
import { addPlan } from './plan.js';
import { addPublish } from './publish.js';
import { addRun } from './run.js';
import { addRuns } from './runs.js';
import { addSearch } from './search.js';
import { addServe } from './serve.js';
import { addStatus } from './status.js';
import { addSubmit } from './submit.js';
import { version } from './version.js';

export function createProgram(finish: Finish): Command {
  const program = new Command('foliopipe')
    .description(
      'Moves a large CSV of businesses through an asynchronous, paid prediction service and back into one enriched CSV. Whatever interrupts it, the same command goes on, loses no record and pays for none twice.',
    )
    .version(version)
    .exitOverride()
    // Wrong usage is told like every other error, by `main`.
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ sortSubcommands: false })
    .addHelpText('after', exitCodes);
  for (const add of [
    addRun,
    addSubmit,
    addCollect,
    addPlan,
    addStatus,
    addRuns,
    addPublish,
    addAdopt,
    addLedger,
    addSearch,
    addCheck,
    addServe,
    addLaterCommands,
  ]) {
    add(program, finish);
  }
  return program;
}

const exitCodes = `
Exit codes:
  0 done            3 published, too many FAILED or some UNPROCESSED    5 passing trouble: run again
  1 a bug           4 source missing, malformed or changed              6 answers that cannot be trusted
  2 usage, config   7 refused by the service                            8, 9 stopped by a limit, resumable
  10 still processing (collect --no-wait)    11 another run holds the lock    130, 143 interrupted, resumable

First steps:
  foliopipe plan -c nightly.yaml     what would be sent, without the network
  foliopipe check -c nightly.yaml    whether service, token and folders are as they should be, without paying
  foliopipe run -c nightly.yaml      the job; after an interruption the same command goes on`;
