/** The limit of records that are bad or blank (`source.maxRejected`), and the error for a source beyond it. */
import { type BadRecord, badRecordHint, badRecordText, type ReadAs } from '../csv/bad-record.js';
import { SourceError } from '../errors.js';
import { countOf, formatCount, formatPercent } from '../quantities.js';
import { showNames, showText } from '../text.js';
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

/** Most blank records that the error names. */
export const SHOWN_BLANKS = 3;

/** Most bad records that the error names. */
export const SHOWN_BAD = 10;

/** A bad record, and the path of its file. */
export interface PlacedBad {
  readonly bad: BadRecord;
  readonly path: string;
}

/** What the error says about a source. */
interface Excess extends Rejects {
  /** The first bad records, at most `SHOWN_BAD`. */
  readonly firstBad: readonly PlacedBad[];
  /** The first blank records, at most `SHOWN_BLANKS`. */
  readonly firstBlanks: readonly BlankRecord[];
  /** The source columns that are sent. */
  readonly columns: readonly string[];
  readonly sourceColumns: readonly string[];
  /** How the file of the first bad record is read. */
  readonly readAs: ReadAs;
}

/**
 * The error for a source with more bad and blank records than the limit allows. Its code is that of the first bad record
 * if none may be bad, else `SOURCE_TOO_MANY_REJECTED`; `SOURCE_NOTHING_TO_SEND` if they are all blank and none is bad.
 */
export async function excessError(excess: Excess, limit: RejectLimit): Promise<SourceError> {
  const blanks: PlacedBlank[] = [];
  for (const one of excess.firstBlanks) {
    blanks.push({ path: one.file.path, record: one.record, line: await lineAt(one.file, one.offset) });
  }
  const { records, rejected, blank = 0, firstBad } = excess;
  const [first] = firstBad;
  const { path, record, line, byte } = first === undefined ? blanks[0]! : { path: first.path, ...first.bad };
  const facts = { records, rejected, blank, file: path, record, line, ...(byte !== undefined && { byte }) };
  const details = { hint: hintOf(excess), facts };
  const message = messageOf(excess, limit, blanks);
  if (first !== undefined && isStrict(limit)) return new SourceError(first.bad.code, message, details);
  return new SourceError(
    rejected > 0 ? 'SOURCE_TOO_MANY_REJECTED' : 'SOURCE_NOTHING_TO_SEND',
    message,
    details,
  );
}

/** The error when no record may be bad, but all of the first ones are, so that the rest was not read. */
export function hopelessError(firstBad: readonly PlacedBad[], records: number, readAs: ReadAs): SourceError {
  const { bad, path } = firstBad[0]!;
  return new SourceError(
    bad.code,
    `each of the first ${formatCount(records)} records is bad, so the rest was not read:${badLines(firstBad, records)}`,
    {
      hint: badRecordHint(bad, readAs),
      facts: { rejected: records, file: path, record: bad.record, line: bad.line, byte: bad.byte },
    },
  );
}

interface PlacedBlank {
  readonly path: string;
  readonly record: number;
  readonly line: number;
  readonly byte?: undefined;
}

function messageOf(excess: Excess, limit: RejectLimit, blanks: readonly PlacedBlank[]): string {
  const { records, rejected, blank = 0, columns, firstBad } = excess;
  const [first] = firstBad;
  if (isStrict(limit) && first !== undefined && rejected + blank === 1) {
    return `${first.path}: ${badRecordText(first.bad)}`;
  }
  const names = [...new Set(columns)].map((column) => showText(column)).join(', ');
  const kinds = [
    ...(blank > 0
      ? [
          `${are(blank)} blank in all sent columns (${names}), the first ${blank === 1 ? 'is' : 'are'} ${blanksText(blanks)}`,
        ]
      : []),
    ...(rejected > 0 ? [`${are(rejected)} bad:${badLines(firstBad, rejected)}`] : []),
  ];
  const counted = `${formatCount(rejected + blank)} of ${countOf(records, 'record')}`;
  if (isStrict(limit) && blank === 0) return `${counted} are bad:${badLines(firstBad, rejected)}`;
  return `${counted} cannot be sent, more than source.maxRejected (${limitText(limit)}): ${kinds.join('; ')}`;
}

/** A line for each bad record, with its file if that differs from the file of the line before. */
function badLines(firstBad: readonly PlacedBad[], rejected: number): string {
  const lines = firstBad.map(
    ({ bad, path }, at) => `\n  ${path === firstBad[at - 1]?.path ? '' : `${path}: `}${badRecordText(bad)}`,
  );
  const more = rejected - firstBad.length;
  return `${lines.join('')}${more > 0 ? `\n  and ${formatCount(more)} more` : ''}`;
}

function hintOf(excess: Excess): string {
  const { records, rejected, blank = 0, sourceColumns, firstBad, readAs } = excess;
  const total = rejected + blank;
  const flag = `--set source.maxRejected=${total}`;
  const allow = `foliopipe plan ${flag} shows what that sends and costs, and pays nothing;\nthen foliopipe run ${flag} (or source.maxRejected in the config)`;
  const [first] = firstBad;
  const correct = first === undefined ? '' : badRecordHint(first.bad, readAs);
  // If all records are bad, a limit that allows them leaves nothing to send.
  if (total === records && blank === 0) return correct;
  const them = rejected === 1 ? 'it' : 'them';
  const forBad = `${correct};\nor go on without ${them}: ${allow} lists ${them} beside the output`;
  if (blank === 0) return forBad;
  const forBlank = `upload.columns names the columns that are sent; the source has ${showNames(sourceColumns, 40)}`;
  const pay = 'upload.skipBlank: false sends them, and they are paid for';
  if (rejected > 0) {
    return `${forBad}, and does not send the blank ones, which are then FAILED;\n${forBlank};\nfor the blank records, ${pay}`;
  }
  return `correct upload.columns if it is wrong: ${forBlank};\nif the records are blank: ${allow} goes on: they are not sent, cost nothing, and are FAILED in the output;\n${pay}`;
}

function are(count: number): string {
  return count === 1 ? '1 is' : `${formatCount(count)} are`;
}

function blanksText(blanks: readonly PlacedBlank[]): string {
  const places = blanks.map(({ path, record, line }, at) => {
    const file = path === blanks[at - 1]?.path ? '' : `${path}: `;
    return `${file}record ${record} (line ${line})`;
  });
  return places.join(', ');
}
