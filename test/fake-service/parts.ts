/** The results of the fake service: predicted, cut into parts, written as CSV with csv-stringify. */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import type { FileStatus } from '../../src/types.js';

/** One uploaded record: values by column name. */
export type SentRecord = Readonly<Record<string, string>>;

/** The columns that the service adds to a record: a prediction, or the reason why there is none. */
export interface Answer {
  readonly status: FileStatus;
  readonly added: Readonly<Record<string, string>>;
}

export interface FakeResult extends Answer {
  readonly sent: SentRecord;
}

/** The CSV style of a part. */
export interface PartStyle {
  readonly newline?: '\n' | '\r\n';
  /** Quotes around every field. */
  readonly quoted?: boolean;
  readonly bom?: boolean;
  /** Which columns are written, in their order; gets all sent and added columns. */
  readonly columns?: (all: readonly string[]) => readonly string[];
}

export interface FakePart {
  readonly part: number;
  readonly fileStatus: FileStatus;
  readonly range: string;
  readonly results: readonly FakeResult[];
}

/** The default answer. It depends on name, address and state alone, so that a test can compute it too. */
export function predictedAnswer({ name = '', address = '', state = '' }: SentRecord): Answer {
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

/** Successful parts of `size` records, numbered from 0, then the failed part if a record failed. */
export function cutParts(results: readonly FakeResult[], size: number, failedPart: number): FakePart[] {
  const successful = results.filter(({ status }) => status === 'SUCCESSFUL');
  const failed = results.filter(({ status }) => status === 'FAILED');
  const parts: FakePart[] = [];
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

export function writePart(part: FakePart, style: PartStyle): Buffer {
  const rows = part.results.map(({ sent, added }) => ({ ...sent, ...added }));
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = style.columns?.(all) ?? all;
  return Buffer.from(
    stringify(rows, {
      header: true,
      columns: [...columns],
      record_delimiter: style.newline ?? '\n',
      quoted: style.quoted ?? false,
      // By default csv-stringify quotes a field only for the newline that it writes itself.
      quoted_match: /[\r\n]/,
      bom: style.bom ?? false,
    }),
  );
}
