/** `foliopipe ledger`: lists all requests that were, or may have been, paid for, from the state folder. */
import type { Command } from 'commander';
import { stringify } from 'csv-stringify/sync';
import {
  addEntries,
  type Config,
  ConfigError,
  emptyTotals,
  type LedgerEntry,
  type LedgerReuse,
  type LedgerSum,
  type LedgerTotals,
  ledgerReuse,
  readLedgerPages,
  readLedgerSums,
} from '../../../pipelines/index.js';
import { countOf, formatAmount, formatCount } from '../../quantities.js';
import { presentTexts, safeJson } from '../../text.js';
import { type CommonOptions, readConfig, withCommonOptions } from '../common-options.js';
import { print, stdout } from '../output.js';
import { openState } from '../session.js';

interface Options extends CommonOptions {
  readonly month?: string;
  readonly csv?: boolean;
  readonly all?: boolean;
  readonly uploads?: boolean;
}

export function addLedger(command: Command): void {
  command
    .argument('[file]', 'config file')
    .option('--month <YYYY-MM>', 'only one month, in budget.timeZone')
    .option('--csv', 'print CSV')
    .option('--all', 'every pipeline in the state folder')
    .option('--uploads', 'a line for each upload; --csv and --json always have one');
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    checkUsage(options);
    await printLedger(await readConfig(options, file, 'nothing'), options);
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

/** Lines are collected into writes of this size: a write for each entry takes longer than reading the entry. */
const WRITE_CHARACTERS = 64 * 1024;

async function printLedger(config: Config, options: Options): Promise<void> {
  const { budget } = config;
  const { timeZone, pricePerRecord, currency } = budget;
  const { month } = options;
  const pipeline = options.all ? undefined : config.pipeline;
  const state = await openState(config);
  const terms = { timeZone, pricePerRecord, month };
  const printAs = async <Line extends LedgerLine>(format: LedgerFormat<Line>, pages: Pages<Line>) => {
    const totals = await printLines(format, pages, pricePerRecord);
    const reuse = ledgerReuse(await state.runs(pipeline), { ...terms, currency });
    await print(format.end(totals, reuse));
  };
  try {
    const entries = readLedgerPages(state, pipeline, terms);
    const table = tableLedger(budget);
    if (options.json) await printAs(jsonLedger(currency), entries);
    else if (options.csv) await printAs(csvLedger(), entries);
    else if (options.uploads) await printAs(table, entries);
    else await printAs(table, readLedgerSums(state, pipeline, terms, LISTED));
  } finally {
    await state.close();
  }
}

type LedgerLine = LedgerEntry | LedgerSum;
type Pages<Line> = AsyncIterable<readonly Line[]>;

/** If a run has more plain uploads than this, they are one line. */
const LISTED = 20;

/** @returns the totals of the lines. */
async function printLines<Line extends LedgerLine>(
  format: LedgerFormat<Line>,
  pages: Pages<Line>,
  pricePerRecord: number | null,
): Promise<LedgerTotals> {
  let text = format.head;
  let totals = emptyTotals(pricePerRecord);
  for await (const page of pages) {
    for (const line of page) text += format.line(line);
    totals = addEntries(totals, page, pricePerRecord);
    if (text.length < WRITE_CHARACTERS) continue;
    stdout.write(text);
    text = '';
    await stdout.drained();
    if (stdout.lost !== undefined) break;
  }
  stdout.write(text);
  return totals;
}

/** A format of the ledger: a table for people, CSV or JSON lines. Formats one line at a time. */
interface LedgerFormat<Line extends LedgerLine> {
  readonly head: string;
  readonly line: (line: Line) => string;
  readonly end: (totals: LedgerTotals, reuse: LedgerReuse) => string;
}

/**
 * A heading for each run, and below it its lines, each of which fits 80 columns with usual values. Times are in the
 * time zone.
 */
function tableLedger({ timeZone, currency, pricePerRecord }: Config['budget']): LedgerFormat<LedgerLine> {
  // Swedish times are written as in ISO 8601.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const minuteText = createLastText((minute) => clock.format(minute * MINUTE));
  const timeOf = (at: number) => minuteText(Math.floor(at / MINUTE));
  let last: (Pick<LedgerEntry, 'pipeline' | 'run' | 'sample' | 'rehearsal'> & { year: string }) | undefined;
  /** The heading of the line, if it is not that of the line before. */
  const headingOf = ({ pipeline, run, sample, rehearsal }: LedgerLine, year: string): string => {
    const isSame =
      last !== undefined &&
      last.run === run &&
      last.pipeline === pipeline &&
      last.sample === sample &&
      last.rehearsal === rehearsal &&
      (run !== null || last.year === year);
    if (isSame) return '';
    last = { pipeline, run, sample, rehearsal, year };
    // The id of a run has its year.
    const name = run ?? `searches of no run in ${year}`;
    return `${name}  ${pipeline}${sample ? '  sample' : ''}${rehearsal ? '  rehearsal' : ''}\n`;
  };
  const countText = createLastText(formatCount);
  return {
    head: row('time', 'chunk', 'try', 'records', 'price', 'folio'),
    line: (line) => {
      const { at, records, price } = line;
      const time = timeOf(at);
      const known = price === null ? '?' : formatAmount(price);
      const cost = line.rehearsal ? '-' : known;
      const heading = headingOf(line, time.slice(0, 4));
      const [day, count] = [time.slice(5), countText(records)];
      if (line.kind === 'uploads') {
        return heading + row(day, '', '', count, cost, countOf(line.uploads, 'upload'));
      }
      const answer = line.kind === 'search' ? 'search' : (line.folio ?? '?');
      const text = row(day, `${line.chunk ?? ''}`, `${line.attempt ?? ''}`, count, cost, answer);
      return heading + withRemark(text, remarkOf(line));
    },
    end: (totals, { saved }) => {
      const { uploads, searches, records, ambiguous, amount } = totals;
      const { rehearsalUploads, rehearsalSearches, rehearsalRecords } = totals;
      // One price for all lines, whatever it was when a record was sent.
      const price = records > 0 ? ` at ${pricePerRecord} a record` : '';
      const cost =
        amount === null
          ? 'unknown: set budget.pricePerRecord'
          : `${formatAmount(amount)} ${currency}${price}`;
      const lines = presentTexts([
        `${requestsText(uploads - rehearsalUploads, searches - rehearsalSearches)}, ${countOf(records, 'record')} to pay, cost ${cost}`,
        ambiguous > 0 && `${countOf(ambiguous, 'record')} of these possibly paid for twice or in vain`,
        rehearsalRecords > 0 &&
          `${countOf(rehearsalRecords, 'record')} in rehearsals (${requestsText(rehearsalUploads, rehearsalSearches)}) cost nothing`,
        saved.records > 0 &&
          `${countOf(saved.records, 'record')} took a known answer${saved.amount === null ? '' : `: ${formatAmount(saved.amount)} ${currency} not paid`}`,
      ]);
      return `${lines.join('\n')}\n`;
    },
  };
}

function requestsText(uploads: number, searches: number): string {
  const searched = searches > 0 ? ` and ${countOf(searches, 'search', 'searches')}` : '';
  return `${countOf(uploads, 'upload')}${searched}`;
}

/** What is unusual about an entry. */
function remarkOf({ possiblyTwice, sentAgain, serviceRecords, records, state }: LedgerEntry): string {
  // A chunk with a single attempt was paid for once or in vain, never twice.
  if (possiblyTwice) return sentAgain ? 'paid twice?' : 'paid?';
  const isCounted = state === 'accepted' && serviceRecords !== null && serviceRecords !== records;
  if (isCounted) return `counted ${formatCount(serviceRecords)}`;
  return '';
}

/** Keeps the text of the last number: most entries have that of the entry before. */
function createLastText(textOf: (value: number) => string): (value: number) => string {
  let last = Number.NaN;
  let text = '';
  return (value) => {
    if (value !== last) text = textOf(value);
    last = value;
    return text;
  };
}

/** Time zones differ by whole minutes. */
const MINUTE = 60_000;

const WIDTHS = { time: 11, chunk: 5, attempt: 3, records: 7, price: 8, folio: 15 };

/** Formats a line by hand, because a ledger may have a million of them. */
function row(
  time: string,
  chunk: string,
  attempt: string,
  records: string,
  price: string,
  folio: string,
): string {
  // In a line without chunk and attempt, the records take their room.
  const tries = chunk === '' ? '' : `${chunk.padStart(WIDTHS.chunk)}  ${attempt.padStart(WIDTHS.attempt)}  `;
  const room = WIDTHS.chunk + WIDTHS.attempt + WIDTHS.records + 4 - tries.length;
  const numbers = tries + records.padStart(room);
  return `  ${time.padEnd(WIDTHS.time)}  ${numbers}  ${price.padStart(WIDTHS.price)}  ${folio.trimEnd()}\n`;
}

/** Puts the remark after the folio, or below it if there is no room. */
function withRemark(line: string, remark: string): string {
  if (remark === '') return line;
  const whole = `${line.trimEnd().padEnd(FOLIO_AT + WIDTHS.folio)}  ${remark}`;
  return whole.length <= 80 ? `${whole}\n` : `${line}${' '.repeat(FOLIO_AT)}${remark}\n`;
}

const FOLIO_AT = Object.values(WIDTHS)
  .slice(0, -1)
  .reduce((sum, width) => sum + width + 2, 2);

function csvLedger(): LedgerFormat<LedgerEntry> {
  const columns = [
    ...['pipeline', 'run', 'chunk', 'attempt', 'file_name', 'folio', 'time', 'state'],
    ...['records_sent', 'records_counted', 'price', 'possibly_twice', 'rehearsal', 'kind', 'sample'],
  ];
  return {
    head: stringify([columns]),
    line: ({ pipeline, run, kind, chunk, attempt, fileName, folio, at, state, ...rest }) => {
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

function jsonLedger(currency: string): LedgerFormat<LedgerEntry> {
  const line = (type: string, fields: object) => `${safeJson({ type, ...fields })}\n`;
  return {
    head: '',
    line: ({ at, kind, ...rest }) => line(kind, { ...rest, time: new Date(at).toISOString() }),
    end: (totals, reuse) => line('summary', { ...totals, ...reuse, currency, exitCode: 0 }),
  };
}
