/** `foliopipe ledger`: lists all requests that were, or may have been, paid for, from the state folder. */
import type { Command } from 'commander';
import { stringify } from 'csv-stringify/sync';
import {
  addEntry,
  type Config,
  ConfigError,
  emptyTotals,
  type LedgerEntry,
  type LedgerReuse,
  type LedgerTotals,
  ledgerReuse,
  readLedger,
} from '../../../pipelines/index.js';
import { countOf, formatCount } from '../../quantities.js';
import { safeJson } from '../../text.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { print, stdout } from '../output.js';
import { openState } from '../session.js';

interface Options extends CommonOptions {
  readonly month?: string;
  readonly csv?: boolean;
  readonly all?: boolean;
}

export function addLedger(command: Command, finish: Finish): void {
  command
    .argument('[file]', 'config file')
    .option('--month <YYYY-MM>', 'only one month, in budget.timeZone')
    .option('--csv', 'print CSV')
    .option('--all', 'every pipeline in the state folder');
  withOutputOptions(withConfigOptions(command)).action(async (file: string | undefined, options: Options) => {
    checkUsage(options);
    await printLedger(await readConfig(options, file, 'nothing'), options);
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

/** A write for each of many entries would take longer than reading them. */
const WRITE_CHARACTERS = 64 * 1024;

async function printLedger(config: Config, options: Options): Promise<void> {
  const { timeZone, pricePerRecord, currency } = config.budget;
  const { month } = options;
  const pipeline = options.all ? undefined : config.pipeline;
  const format = chooseFormat(config, options);
  const state = await openState(config);
  try {
    let text = format.head;
    let totals = emptyTotals(pricePerRecord);
    const ledgerOptions = { timeZone, pricePerRecord, ...(month !== undefined && { month }) };
    for await (const entry of readLedger(state, pipeline, ledgerOptions)) {
      text += format.entry(entry);
      totals = addEntry(totals, entry, pricePerRecord);
      if (text.length < WRITE_CHARACTERS) continue;
      stdout.write(text);
      text = '';
      await stdout.drained();
      if (stdout.lost !== undefined) break;
    }
    const reuse = ledgerReuse(await state.runs(pipeline), { ...ledgerOptions, currency });
    await print(text + format.end(totals, reuse));
  } finally {
    await state.close();
  }
}

function chooseFormat({ budget: { timeZone, currency } }: Config, { csv, json }: Options): LedgerFormat {
  if (json) return jsonLedger(currency);
  return csv ? csvLedger() : tableLedger(timeZone, currency);
}

/** A format of the ledger: a table for people, CSV or JSON lines. Formats one entry at a time. */
export interface LedgerFormat {
  readonly head: string;
  readonly entry: (entry: LedgerEntry) => string;
  readonly end: (totals: LedgerTotals, reuse: LedgerReuse) => string;
}

/**
 * A heading for each run, and below it a line for each entry, which fits 80 columns with usual values. Times are in the
 * time zone.
 */
function tableLedger(timeZone: string, currency: string): LedgerFormat {
  // Swedish times are written as in ISO 8601.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  let last = { minute: Number.NaN, text: '' };
  const timeOf = (at: number) => {
    const minute = Math.floor(at / MINUTE);
    if (minute !== last.minute) last = { minute, text: clock.format(at) };
    return last.text;
  };
  let heading = '';
  return {
    head: row(['time', 'chunk', 'try', 'records', 'price', 'folio']),
    entry: (entry) => {
      const { at, pipeline, run, chunk, attempt, records, price, folio } = entry;
      const { sample, rehearsal } = entry;
      const before = heading;
      const time = timeOf(at);
      const [year, day] = [time.slice(0, 4), time.slice(5)];
      // The id of a run has its year.
      const of = run ?? `searches of no run in ${year}`;
      heading = `${of}  ${pipeline}${sample ? '  sample' : ''}${rehearsal ? '  rehearsal' : ''}\n`;
      const numbers = [String(chunk ?? ''), String(attempt ?? ''), formatCount(records)];
      const cost = price === null ? '?' : price.toFixed(2);
      const answer = entry.kind === 'search' ? 'search' : (folio ?? '?');
      const line = rowWithRemark([day, ...numbers, cost, answer], remarkOf(entry));
      return heading === before ? line : heading + line;
    },
    end: (totals, { saved }) => {
      const { uploads, searches, records, possiblyTwice, amount } = totals;
      const { rehearsalUploads, rehearsalSearches, rehearsalRecords } = totals;
      const cost =
        amount === null ? 'unknown: set budget.pricePerRecord' : `${amount.toFixed(2)} ${currency}`;
      const lines = [
        `${requestsText(uploads - rehearsalUploads, searches - rehearsalSearches)}, ${countOf(records, 'record')} to pay, cost ${cost}`,
        ...(possiblyTwice > 0
          ? [`${countOf(possiblyTwice, 'record')} of these possibly paid for twice or in vain`]
          : []),
        ...(rehearsalRecords > 0
          ? [
              `${countOf(rehearsalRecords, 'record')} in rehearsals (${requestsText(rehearsalUploads, rehearsalSearches)}) cost nothing`,
            ]
          : []),
        ...(saved.records > 0
          ? [
              `${countOf(saved.records, 'record')} took a known answer${saved.amount === null ? '' : `: ${saved.amount.toFixed(2)} ${currency} not paid`}`,
            ]
          : []),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

function requestsText(uploads: number, searches: number): string {
  const searched = searches > 0 ? ` and ${countOf(searches, 'search', 'searches')}` : '';
  return `${countOf(uploads, 'upload')}${searched}`;
}

/** What is not as usual with an entry. */
function remarkOf({ possiblyTwice, sentAgain, serviceRecords, records, state }: LedgerEntry): string {
  // A chunk with a single attempt was paid for once or in vain, never twice.
  if (possiblyTwice) return sentAgain ? 'paid twice?' : 'paid?';
  const isCounted = state === 'accepted' && serviceRecords !== null && serviceRecords !== records;
  if (isCounted) return `counted ${formatCount(serviceRecords)}`;
  return '';
}

/** Time zones differ by whole minutes. */
const MINUTE = 60_000;

const widths: readonly number[] = [11, 5, 3, 7, 8, 15];
/** Indexes of the columns that are aligned to the right. */
const numeric = new Set([1, 2, 3, 4]);

function row(cells: readonly string[]): string {
  const padded = cells.map((cell, index) =>
    numeric.has(index) ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!),
  );
  return `  ${padded.join('  ').trimEnd()}\n`;
}

/** The remark stands behind the folio, or below it if there is no room. */
function rowWithRemark(cells: readonly string[], remark: string): string {
  const line = row(cells);
  if (remark === '') return line;
  const whole = `${line.trimEnd().padEnd(FOLIO_AT + widths.at(-1)!)}  ${remark}`;
  return whole.length <= 80 ? `${whole}\n` : `${line}${' '.repeat(FOLIO_AT)}${remark}\n`;
}

const FOLIO_AT = 2 + widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);

function csvLedger(): LedgerFormat {
  const columns = [
    ...['pipeline', 'run', 'chunk', 'attempt', 'file_name', 'folio', 'time', 'state'],
    ...['records_sent', 'records_counted', 'price', 'possibly_twice', 'rehearsal', 'kind', 'sample'],
  ];
  return {
    head: stringify([columns]),
    entry: ({ pipeline, run, kind, chunk, attempt, fileName, folio, at, state, ...rest }) => {
      const { records, serviceRecords, price, possiblyTwice, rehearsal, sample } = rest;
      const upload = [pipeline, run, chunk, attempt, fileName, folio, new Date(at).toISOString(), state];
      return stringify([
        [
          ...[...upload, records, serviceRecords, price, String(possiblyTwice), String(rehearsal), kind],
          String(sample),
        ],
      ]);
    },
    end: () => '',
  };
}

function jsonLedger(currency: string): LedgerFormat {
  const line = (type: string, fields: object) => `${safeJson({ type, ...fields })}\n`;
  return {
    head: '',
    entry: ({ at, kind, ...rest }) => line(kind, { ...rest, time: new Date(at).toISOString() }),
    end: (totals, reuse) => line('summary', { ...totals, ...reuse, currency, exitCode: 0 }),
  };
}
