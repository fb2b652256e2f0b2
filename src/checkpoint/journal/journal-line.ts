/** The lines of a run's journal. Each line is a JSON object; its last member is a checksum of the text before it. */
import { crc32 } from 'node:zlib';
import type { Choice, Chunk, Doubt, Source, UnprocessedCause } from '../../types.js';
import type { Confirmed, Publication, Withheld } from '../publication.js';
import type { ChunkRow, SingleSearch, Upload } from '../state.js';

/** The version of the format. */
export const journalVersion = 1;

/** The first line: the run, its source and its frozen values. */
export interface RunLine {
  readonly type: 'run';
  readonly version: number;
  readonly run: string;
  readonly pipeline: string;
  readonly service: string;
  readonly label: string | null;
  readonly canary: number;
  readonly createdAt: number;
  readonly source: Source;
  readonly frozen: Readonly<Record<string, string>>;
  /** Left out if every record of the source is sent. */
  readonly choice?: Choice;
}

/** A chunk was cut. `numbers` are its records, if they are not simply the next ones; else null. */
interface CutLine extends Omit<Chunk, 'number'> {
  readonly type: 'cut';
  readonly chunk: number;
  readonly round: number;
  readonly numbers: readonly number[] | null;
}

/** A chunk is about to be uploaded. Its first and last record and its hash are null if its row was pruned. */
interface IntentLine {
  readonly type: 'intent';
  readonly chunk: number;
  readonly attempt: number;
  readonly firstRecord: number | null;
  readonly lastRecord: number | null;
  readonly records: number;
  readonly sha256: string | null;
  readonly fileName: string;
  readonly at: number;
  readonly day: string;
}

/** The folio of an upload: read from the reply, or adopted by a person. */
export interface FolioLine {
  readonly type: 'accepted' | 'adopted';
  readonly chunk: number;
  readonly attempt: number;
  readonly folio: string;
  readonly serviceRecords: number | null;
  readonly rehearsal: boolean;
  readonly at: number;
}

/** An upload that ended without a folio. */
interface EndLine {
  readonly type: 'dropped' | 'ambiguous';
  readonly chunk: number;
  readonly attempt: number;
  /** Null if a kill ended the upload. */
  readonly at: number | null;
  /** Why the upload is ambiguous, if that is known. */
  readonly doubt?: Doubt | null;
}

/** The data that identifies a publication, and the facts of its night if it was put in place and is one. */
export interface NumberedFile extends Pick<Publication, 'number' | 'bytes' | 'sha256' | 'night'> {
  readonly path: string;
}

export type JournalLine =
  | RunLine
  | CutLine
  | IntentLine
  | FolioLine
  | EndLine
  | { readonly type: 'split'; readonly chunk: number }
  | { readonly type: 'refused'; readonly chunk: number; readonly refusal: string }
  | { readonly type: 'unprocessed'; readonly chunk: number; readonly cause: UnprocessedCause }
  /** The source is cut completely. `chunks` is given when the journal is written from the database. */
  | { readonly type: 'all-cut'; readonly chunks?: number }
  | { readonly type: 'search'; readonly record: number; readonly at: number; readonly day: string }
  | {
      readonly type: 'searched';
      readonly record: number;
      readonly state: 'answered' | 'dropped' | 'ambiguous';
      readonly values: Readonly<Record<string, string>> | null;
    }
  | { readonly type: 'settled'; readonly round: number }
  | { readonly type: 'columns'; readonly columns: readonly string[]; readonly learned: boolean }
  /** `frozen` has the frozen values that the publication changes. */
  | {
      readonly type: 'publishing';
      readonly publication: Publication;
      readonly frozen?: Readonly<Record<string, string>>;
    }
  /** An earlier publication of the run; the current one has a `publishing` line. */
  | { readonly type: 'published'; readonly file: NumberedFile }
  /** The service knows a lost folio again. */
  | { readonly type: 'found'; readonly chunk: number }
  /** The join method and the columns are no longer fixed. */
  | { readonly type: 'unjoined' }
  /** `rehearsal`: a reply came from a local service. `mixed`: more than one service has answered. */
  | { readonly type: 'rehearsal' | 'mixed' }
  | { readonly type: 'withheld'; readonly withheld: Withheld; readonly at: number }
  | { readonly type: 'confirmed'; readonly confirmed: Confirmed; readonly at: number }
  | { readonly type: 'done' | 'superseded' | 'pruned'; readonly at: number }
  | { readonly type: 'unpublished' | 'reopened' };

/** A line of the journal of searches that belong to no run. */
export type SearchJournalLine =
  | ({ readonly type: 'single-search'; readonly at: number } & Pick<
      SingleSearch,
      'id' | 'pipeline' | 'service' | 'day'
    >)
  | ({ readonly type: 'single-searched' } & Pick<SingleSearch, 'id' | 'state' | 'local'>);

/** @param numbers its records, if they were picked. */
export function cutLine(
  { number, round, firstRecord, lastRecord, records, start, end, bytes, sha256 }: ChunkRow,
  numbers: readonly number[] | null,
): CutLine {
  const span = { firstRecord, lastRecord, records, start, end, bytes, sha256 };
  return { type: 'cut', chunk: number, round, ...span, numbers };
}

/** @param sent the chunk; undefined if its row was pruned. */
export function intentLine(
  upload: Pick<Upload, 'chunk' | 'attempt' | 'records' | 'fileName' | 'startedAt'>,
  sent: ChunkRow | undefined,
  day: string,
): IntentLine {
  const { chunk, attempt, records, fileName, startedAt: at } = upload;
  const { firstRecord = null, lastRecord = null, sha256 = null } = sent ?? {};
  const span = { firstRecord, lastRecord, sha256 };
  return { type: 'intent', chunk, attempt, ...span, records, fileName, at, day };
}

/** @returns the text of the line, with its line feed. */
export function encodeLine(line: JournalLine | SearchJournalLine): string {
  const body = JSON.stringify(line);
  return `${body.slice(0, -1)},"crc":"${checksum(body)}"}\n`;
}

const END = /,"crc":"([0-9a-f]{8})"\}$/;

/** @returns the line; undefined if its checksum is missing or wrong. */
export function decodeLine(text: string): JournalLine | SearchJournalLine | undefined {
  const end = END.exec(text);
  if (end === null) return undefined;
  const body = `${text.slice(0, end.index)}}`;
  return checksum(body) === end[1] ? (JSON.parse(body) as JournalLine | SearchJournalLine) : undefined;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
