/** The limit of records that are bad or blank (`source.maxRejected`), and the error for a source beyond it. */
import { type BadRecord, badRecordPlace } from '../csv/bad-record.js';
import { SourceError } from '../errors.js';
import { formatCount, formatPercent } from '../quantities.js';
import { showText } from '../text.js';
import type { Dialect, RejectLimit, Source } from '../types.js';
import { lineAt } from './read-decoded.js';

type Rejects = Pick<Source, 'records' | 'rejected' | 'blank'>;

/** Whether a source has no more bad and blank records than the limit allows. A share is one of all records read. */
export function isWithinLimit({ records, rejected, blank = 0 }: Rejects, limit: RejectLimit): boolean {
  const found = rejected + blank;
  if (found === 0) return true;
  // Divides the counts instead of multiplying the share, because 0.29 * 100 is less than 29.
  return 'records' in limit ? found <= limit.records : found / records <= limit.share;
}

/** Whether the limit allows no such record at all. */
export function isStrict(limit: RejectLimit): boolean {
  return ('records' in limit ? limit.records : limit.share) === 0;
}

/** The limit as people write it: `10` or `0.5%`. */
export function limitText(limit: RejectLimit): string {
  return 'records' in limit ? String(limit.records) : formatPercent(limit.share, 3);
}

/** A blank record, by its place. */
export interface BlankRecord {
  readonly file: { readonly path: string; readonly dialect: Dialect };
  readonly record: number;
  /** Decoded offset in the file at which it begins. */
  readonly offset: number;
}

/** Blank records that the error names. */
export const SHOWN_BLANKS = 3;

/** What the error says of a source. */
export interface Excess extends Rejects {
  /** The first bad record, and the path of its file; undefined if there is none. */
  readonly firstBad: { readonly bad: BadRecord; readonly path: string } | undefined;
  /** The first blank records, at most `SHOWN_BLANKS`. */
  readonly firstBlanks: readonly BlankRecord[];
  /** The source columns that are sent. */
  readonly columns: readonly string[];
  readonly sourceColumns: readonly string[];
}

/**
 * The error for a source with more bad and blank records than the limit allows: `SOURCE_TOO_MANY_REJECTED`, or
 * `SOURCE_NOTHING_TO_SEND` if all of them are blank.
 */
export async function excessError(excess: Excess, limit: RejectLimit): Promise<SourceError> {
  const { records, rejected, blank = 0, columns, firstBad } = excess;
  const blanks: PlacedBlank[] = [];
  for (const one of excess.firstBlanks) {
    blanks.push({ path: one.file.path, record: one.record, line: await lineAt(one.file, one.offset) });
  }
  const names = [...new Set(columns)].map((column) => showText(column)).join(', ');
  const kinds = [
    ...(firstBad === undefined ? [] : [`${are(rejected)} bad, the first is ${badText(firstBad)}`]),
    ...(blank > 0
      ? [
          `${are(blank)} blank in all sent columns (${names}), the first ${blank === 1 ? 'is' : 'are'} ${blanksText(blanks)}`,
        ]
      : []),
  ];
  const of = `${formatCount(rejected + blank)} of ${formatCount(records)} records`;
  const more = `more than source.maxRejected (${limitText(limit)})`;
  const { path, record, line } =
    firstBad === undefined ? blanks[0]! : { path: firstBad.path, ...firstBad.bad };
  return new SourceError(
    rejected > 0 ? 'SOURCE_TOO_MANY_REJECTED' : 'SOURCE_NOTHING_TO_SEND',
    `${of} cannot be sent, ${more}: ${kinds.join('; ')}`,
    { hint: hintOf(excess), facts: { records, rejected, blank, file: path, record, line } },
  );
}

interface PlacedBlank {
  readonly path: string;
  readonly record: number;
  readonly line: number;
}

/** Columns of the source that the hint names. */
const SHOWN_COLUMNS = 20;

function hintOf({ rejected, blank = 0, sourceColumns }: Excess): string {
  const allow = `foliopipe run --set source.maxRejected=${rejected + blank} (or source.maxRejected in the config)`;
  const forBad = `correct the bad records, or leave them out: ${allow} lists them beside the output`;
  if (blank === 0) return forBad;
  const shown = sourceColumns.slice(0, SHOWN_COLUMNS).map((column) => showText(column, 40));
  const more = sourceColumns.length - shown.length;
  const names = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const forBlank = `upload.columns names the columns that are sent; the source has ${names}`;
  const pay = 'upload.skipBlank: false sends them, and they are paid for';
  if (rejected > 0) {
    return `${forBad}, and does not send the blank ones, which are then FAILED; ${forBlank}; for the blank records, ${pay}`;
  }
  return `correct upload.columns if it is wrong: ${forBlank}; if the records are blank, ${allow} goes on: they are not sent, cost nothing, and are FAILED in the output; ${pay}`;
}

function are(count: number): string {
  return count === 1 ? '1 is' : `${formatCount(count)} are`;
}

function badText({ bad, path }: NonNullable<Excess['firstBad']>): string {
  return `${path}: ${badRecordPlace(bad)}: ${bad.message}: ${showText(bad.raw)}`;
}

function blanksText(blanks: readonly PlacedBlank[]): string {
  const places = blanks.map(({ path, record, line }, at) => {
    const file = path === blanks[at - 1]?.path ? '' : `${path}: `;
    return `${file}record ${record} (line ${line})`;
  });
  return places.join(', ');
}
