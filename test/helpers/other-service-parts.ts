/** What the independent service answers of a folio: its results, cut into parts, written with csv-stringify. */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import type { FileStatus } from '../../src/types.js';

/** One record as it was uploaded: value by column name. */
export type SentRecord = Readonly<Record<string, string>>;

/** The columns that the service adds to a record: a prediction, or the reasons why there is none. */
export interface Answer {
  readonly status: FileStatus;
  readonly added: Readonly<Record<string, string>>;
}

export interface OtherResult extends Answer {
  readonly sent: SentRecord;
}

/** How the CSV of a part looks. */
export interface PartStyle {
  readonly newline?: '\n' | '\r\n';
  /** Quotes around every field, whether it needs them or not. */
  readonly quoted?: boolean;
  readonly bom?: boolean;
  /** Which columns come, and in which order; given all of them as sent and added. */
  readonly columns?: (all: readonly string[]) => readonly string[];
}

export interface OtherPart {
  readonly part: number;
  readonly fileStatus: FileStatus;
  readonly range: string;
  readonly results: readonly OtherResult[];
}

/** The answer that everybody can foresee: it follows from name, address and state alone. */
export function foreseenAnswer({ name = '', address = '', state = '' }: SentRecord): Answer {
  if (name.includes('Failing'))
    return { status: 'FAILED', added: { reason: `nothing fits "${name}", sorry` } };
  const digest = createHash('md5').update(`${name}|${address}|${state}`).digest();
  return {
    status: 'SUCCESSFUL',
    added: {
      naics_code: String(100_000 + (digest.readUInt32BE(0) % 900_000)),
      naics_title: `Trade ${digest[5]}, "other" kinds`,
      confidence: `0.${digest[6]! % 10}`,
    },
  };
}

/** Successful parts of `size` records, numbered from 0; then, where there is one, the failed part. */
export function cutParts(results: readonly OtherResult[], size: number, failedPart: number): OtherPart[] {
  const successful = results.filter(({ status }) => status === 'SUCCESSFUL');
  const failed = results.filter(({ status }) => status === 'FAILED');
  const parts: OtherPart[] = [];
  for (let from = 0; from < successful.length; from += size) {
    const some = successful.slice(from, from + size);
    const range = `[${from + 1}-${from + some.length}]`;
    parts.push({ part: parts.length, fileStatus: 'SUCCESSFUL', range, results: some });
  }
  if (failed.length > 0) {
    parts.push({ part: failedPart, fileStatus: 'FAILED', range: `[1-${failed.length}]`, results: failed });
  }
  return parts;
}

export function writePart(part: OtherPart, style: PartStyle): Buffer {
  const rows = part.results.map(({ sent, added }) => ({ ...sent, ...added }));
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = style.columns?.(all) ?? all;
  return Buffer.from(
    stringify(rows, {
      header: true,
      columns: [...columns],
      record_delimiter: style.newline ?? '\n',
      quoted: style.quoted ?? false,
      // Left alone, csv-stringify quotes only its own kind of newline.
      quoted_match: /[\r\n]/,
      bom: style.bom ?? false,
    }),
  );
}
