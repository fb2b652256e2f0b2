/** `foliopipe ledger`: what was sent, and may have to be paid, over all runs in the state folder. */
import type { Command } from 'commander';
import { addEntry, type Config, ConfigError, emptyTotals, readLedger } from '../../pipelines/index.js';
import { type CommonOptions, readConfig, withConfigOptions, withOutputOptions } from './common-options.js';
import type { Finish } from './finish.js';
import { csvLedger, jsonLedger, type LedgerFormat, tableLedger } from './ledger-formats.js';
import { print, stdout } from './output.js';
import { openState } from './session.js';

interface Options extends CommonOptions {
  readonly month?: string;
  readonly csv?: boolean;
  readonly all?: boolean;
}

export function addLedger(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--month <YYYY-MM>', 'of one month in budget.timeZone')
    .option('--csv', 'as CSV')
    .option('--all', 'of every pipeline in the state folder');
  withOutputOptions(withConfigOptions(command)).action(async (file: string | undefined, options: Options) => {
    checkUsage(options);
    await printLedger(await readConfig(options, file), options);
    finish(0);
  });
}

function checkUsage({ month, csv, json }: Options): void {
  if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) {
    throw new ConfigError('USAGE', `--month ${month}: expected a month`, { hint: 'such as 2026-11' });
  }
  if (csv && json) {
    throw new ConfigError('USAGE', '--csv and --json exclude each other', { hint: 'leave one of them out' });
  }
}

async function printLedger(config: Config, options: Options): Promise<void> {
  const { timeZone, pricePerRecord } = config.budget;
  const { month } = options;
  const format = chooseFormat(config, options);
  const state = await openState(config);
  try {
    stdout.write(format.head);
    let totals = emptyTotals(pricePerRecord);
    const terms = { timeZone, pricePerRecord, ...(month !== undefined && { month }) };
    for await (const entry of readLedger(state, options.all ? undefined : config.pipeline, terms)) {
      if (stdout.lost !== undefined) break;
      stdout.write(format.entry(entry));
      await stdout.drained();
      totals = addEntry(totals, entry, pricePerRecord);
    }
    await print(format.end(totals));
  } finally {
    await state.close();
  }
}

function chooseFormat({ budget: { timeZone, currency } }: Config, { csv, json }: Options): LedgerFormat {
  if (json) return jsonLedger(currency);
  return csv ? csvLedger() : tableLedger(timeZone, currency);
}
