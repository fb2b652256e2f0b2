/** A source that uses all of CSV, and the enrichment that each record must get. */
import { parse } from 'csv-parse/sync';
import { type Answer, predictedAnswer, type SentRecord } from '../../fake-service/parts.js';

export const sourceColumns = ['id', 'Business', 'Address', 'State', 'Note'] as const;

/** The columns that a run adds to a record. */
export interface Enrichment {
  readonly status: string;
  readonly code: string;
  readonly error: string;
  /** By the column names of the service. */
  readonly added: Readonly<Record<string, string>>;
}

/**
 * Records with quoted commas, doubled quotes, newlines, needless quotes, empty fields, leading zeros, and tuples of
 * name, address and state that occur more than once. About one in seven fails.
 */
export function sourceText(records: number): string {
  const lines = Array.from({ length: records }, (_, i) => sourceLine(i + 1));
  return `${sourceColumns.join(',')}\n${lines.join('')}`;
}

function sourceLine(number: number): string {
  const id = String(number).padStart(5, '0');
  if (number % 9 === 0) return `${id},Twin & Sons,"1 Same St, Unit 2",MT,"copy ""${number}"""\n`;
  const name = ['Plain Ltd', '"Comma, Inc"', '"The ""Best"" Café"', '"Two\nLines LLC"', '"Needless"'][
    number % 5
  ]!;
  const inner = name.startsWith('"') ? `${name.slice(0, -1)} ${number}"` : `${name} ${number}`;
  const business = number % 7 === 3 ? `Failing Co ${number}` : inner;
  const address = number % 6 === 0 ? '' : `"${number} Main St, Suite ${number % 3}"`;
  return `${id},${business},${address},${number % 4 === 0 ? 'WY' : 'MT'},note ${number}\n`;
}

/** The columns of a record that are sent, without its number. */
export function sentOf(row: Readonly<Record<string, string>>): SentRecord {
  return { name: row.Business!, address: row.Address!, state: row.State! };
}

/** Whether a record is blank in all sent columns, and so not sent. */
export function isBlank(sent: SentRecord): boolean {
  return Object.values(sent).every((value) => value.trim() === '');
}

const nothingToSend: Enrichment = {
  status: 'FAILED',
  code: 'NOTHING_TO_SEND',
  error: 'every sent column of this record is blank, so it was not sent',
  added: {},
};

/** The enrichment of a record by a fake service with default answers. */
export function predictedEnrichment(row: Readonly<Record<string, string>>): Enrichment {
  if (isBlank(sentOf(row))) return nothingToSend;
  return enrichmentOf(predictedAnswer(sentOf(row)));
}

export function enrichmentOf({ status, added }: Answer): Enrichment {
  if (status === 'SUCCESSFUL') return { status, code: '', error: '', added };
  return { status, code: 'SERVICE_FAILED', error: added.reason ?? '', added: {} };
}

export interface RawRecord {
  readonly record: Record<string, string>;
  /** The bytes in the file, without the newline. */
  readonly raw: string;
}

/** Records with their raw text, read by csv-parse. */
export function readRaw(csv: string): RawRecord[] {
  const found = parse(csv, { columns: true, raw: true }) as unknown as RawRecord[];
  return found.map(({ record, raw }) => ({ record, raw: raw.replace(/\r?\n$/, '') }));
}
