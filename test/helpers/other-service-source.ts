/** Sources full of what CSV allows, and the output that each of them must become. */
import { parse } from 'csv-parse/sync';
import { type Answer, foreseenAnswer, type SentRecord } from './other-service-parts.js';

export const sourceColumns = ['id', 'Business', 'Address', 'State', 'Note'] as const;

/** A record of the output, without what the source has of it. */
export interface Enrichment {
  readonly status: string;
  readonly code: string;
  readonly error: string;
  /** By the names of the service. */
  readonly added: Readonly<Record<string, string>>;
}

/**
 * Records with quoted commas, doubled quotes, newlines, needless quotes, empty fields, leading zeros, and
 * tuples of name, address and state that come more than once. About one in seven is to fail.
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

/** What is sent of a source's record, without its number. */
export function sentOf(row: Readonly<Record<string, string>>): SentRecord {
  return { name: row.Business!, address: row.Address!, state: row.State! };
}

/** What the honest service makes of a source's record. */
export function foreseen(row: Readonly<Record<string, string>>): Enrichment {
  return enrichmentOf(foreseenAnswer(sentOf(row)));
}

export function enrichmentOf({ status, added }: Answer): Enrichment {
  if (status === 'SUCCESSFUL') return { status, code: '', error: '', added };
  return { status, code: 'SERVICE_FAILED', error: added.reason ?? '', added: {} };
}

export interface RawRecord {
  readonly record: Record<string, string>;
  /** As it stands in the file, without its newline. */
  readonly raw: string;
}

/** Records with their raw text, by csv-parse. */
export function readRaw(csv: string, delimiter = ','): RawRecord[] {
  const found = parse(csv, { columns: true, raw: true, delimiter }) as unknown as RawRecord[];
  return found.map(({ record, raw }) => ({ record, raw: raw.replace(/\r?\n$/, '') }));
}
