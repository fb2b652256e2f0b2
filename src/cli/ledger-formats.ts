/** The ledger as a table for people, as CSV and as JSON lines: texts made entry by entry. */
import { stringify } from 'csv-stringify/sync';
import type { LedgerEntry, LedgerTotals } from '../../pipelines/index.js';
import { countOf, formatCount } from './format.js';

export interface LedgerFormat {
  readonly head: string;
  readonly entry: (entry: LedgerEntry) => string;
  readonly end: (totals: LedgerTotals) => string;
}

/** Times in the time zone; the columns are as wide as what usually stands in them. */
export function tableLedger(timeZone: string, currency: string): LedgerFormat {
  // Sweden writes its times as ISO 8601 does.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return {
    head: row(['time', 'pipeline', 'run', 'chunk', 'try', 'sent', 'counted', 'price', 'folio', 'file']),
    entry: (entry) => {
      const { at, pipeline, run, chunk, attempt, records, serviceRecords, price, folio, fileName } = entry;
      const counted = serviceRecords === null ? '?' : formatCount(serviceRecords);
      const numbers = [String(chunk ?? ''), String(attempt ?? ''), formatCount(records), counted];
      // An attempt that is alone in its chunk was paid once or in vain, never twice.
      const doubt = entry.sentAgain ? '  possibly twice' : '  unknown';
      const remarks = `${entry.possiblyTwice ? doubt : ''}${entry.rehearsal ? '  rehearsal' : ''}`;
      const cost = price === null ? '?' : price.toFixed(2);
      const file = fileName ?? 'searched one by one';
      const answer = entry.kind === 'search' ? '' : (folio ?? '?');
      return row([clock.format(at), pipeline, run, ...numbers, cost, answer, `${file}${remarks}`]);
    },
    end: ({ uploads, searches, records, possiblyTwice, amount, rehearsalRecords }) => {
      const cost =
        amount === null ? 'unknown: set budget.pricePerRecord' : `${amount.toFixed(2)} ${currency}`;
      const lines = [
        `${countOf(uploads, 'upload')}, ${countOf(records, 'record')} to pay${searches > 0 ? ` (${countOf(searches, 'record')} searched one by one)` : ''}, cost ${cost}`,
        ...(possiblyTwice > 0
          ? [`${countOf(possiblyTwice, 'record')} of these possibly paid for twice or in vain`]
          : []),
        ...(rehearsalRecords > 0
          ? [`${countOf(rehearsalRecords, 'record')} in rehearsals cost nothing`]
          : []),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

const widths: readonly number[] = [16, 12, 22, 6, 3, 9, 9, 10, 20, 0];
const numeric = new Set([3, 4, 5, 6, 7]);

function row(cells: readonly string[]): string {
  const padded = cells.map((cell, at) =>
    numeric.has(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!),
  );
  return `${padded.join('  ')}\n`;
}

export function csvLedger(): LedgerFormat {
  const columns = [
    ...['pipeline', 'run', 'chunk', 'attempt', 'file_name', 'folio', 'time', 'state'],
    ...['records_sent', 'records_counted', 'price', 'possibly_twice', 'rehearsal', 'kind'],
  ];
  return {
    head: stringify([columns]),
    entry: ({ pipeline, run, kind, chunk, attempt, fileName, folio, at, state, ...rest }) => {
      const { records, serviceRecords, price, possiblyTwice, rehearsal } = rest;
      const upload = [pipeline, run, chunk, attempt, fileName, folio, new Date(at).toISOString(), state];
      return stringify([
        [...upload, records, serviceRecords, price, String(possiblyTwice), String(rehearsal), kind],
      ]);
    },
    end: () => '',
  };
}

export function jsonLedger(currency: string): LedgerFormat {
  const line = (type: string, fields: object) => `${JSON.stringify({ type, ...fields })}\n`;
  return {
    head: '',
    entry: ({ at, kind, ...rest }) => line(kind, { ...rest, time: new Date(at).toISOString() }),
    end: (totals) => line('summary', { ...totals, currency, exitCode: 0 }),
  };
}
