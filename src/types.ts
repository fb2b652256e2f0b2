/** The words of the project as types: the data that passes between the layers. */
import type { Bytes, Milliseconds, Position } from './source-types.js';

export type * from './source-types.js';

/** Records that are sent, in ascending order, cut by count and bytes, written as one uploadable file. */
export interface Chunk {
  /** Unique in the run, from 1. In the order of the source, unless chunks are split or records are sent again. */
  readonly number: number;
  /** Number of its first record in the source. */
  readonly firstRecord: number;
  /** Number of its last record; more than `firstRecord + records - 1` if there are rejected or blank records in between. */
  readonly lastRecord: number;
  readonly records: number;
  readonly start: Position;
  /** Just after the content of the last record. Its newline, if read from here, is an empty line and not a record. */
  readonly end: Position;
  /** Size of the uploadable file. */
  readonly bytes: Bytes;
  /** Hash of the uploadable file, hex. */
  readonly sha256: string;
}

/** The content of a file to upload, wherever it is stored: on a disk, in a database or in an object store. */
export interface UploadContent {
  readonly bytes: Bytes;
  /**
   * Gives the content as a stream from its first byte on, exactly `bytes` of it; called once for each attempt. A piece
   * is valid until the next one is requested. An error counts as a cut connection: the upload is tried again if nothing
   * was sent, otherwise it is ambiguous.
   */
  open(): AsyncIterable<Uint8Array>;
}

/** Which records a part holds: the interface's `fileStatus`. */
export type FileStatus = 'SUCCESSFUL' | 'FAILED';

/** A value of the output's status column. */
export type PredictionStatus = FileStatus | 'UNPROCESSED';

/**
 * Why a chunk's records have no answer. UNPROCESSED always has one of these causes (rule "Balance"). `FOLIO_ABANDONED`:
 * a person has given up the folio.
 */
export type UnprocessedCause = 'AMBIGUOUS_HELD' | 'FOLIO_LOST' | 'FOLIO_ABANDONED' | 'DEADLINE';

/**
 * Why it is unknown whether a paid request was accepted. `no-reply`: the connection broke, a time-out, or a server
 * error. `redirected`: any 3xx. `unreadable`: a complete 2xx reply that does not say what was accepted. The value is
 * stored.
 */
export type Doubt = 'no-reply' | 'redirected' | 'unreadable';

/** A value of the output's error code column. */
export type PredictionErrorCode = 'SERVICE_FAILED' | 'RECORD_REFUSED' | 'NOTHING_TO_SEND' | UnprocessedCause;

/** The service's counts of a finished folio. */
export interface FolioCounts {
  readonly successful: number;
  readonly failed: number;
}

/** A part that the service lists for download. */
export interface PartReference {
  readonly fileStatus: FileStatus;
  readonly part: number;
}

/** A decoded part on disk. */
export interface StoredPart extends PartReference {
  /** Decoded size. */
  readonly bytes: Bytes;
  /** Hash of the decoded bytes, hex. */
  readonly sha256: string;
  /** Records in it, the header not counted. */
  readonly records: number;
}

/** How many records of a run ended in each way. */
export interface Counts {
  readonly read: number;
  readonly successful: number;
  readonly failed: number;
  readonly unprocessed: number;
  readonly rejected: number;
}

/** How many records of one origin there are, and how they ended. */
export interface OriginCounts extends Pick<Counts, 'successful' | 'failed' | 'unprocessed'> {
  /** More than the sum of the other counts while some records are not in the output yet. */
  readonly records: number;
}

/**
 * The records of a run by the origin of their answers: sent, taken from earlier runs, taken from equal records. Skipped
 * records are FAILED without having been sent, because they are blank.
 */
export interface Origins {
  readonly sent: OriginCounts;
  readonly reused: OriginCounts;
  readonly duplicates: OriginCounts;
  readonly skipped: OriginCounts;
}

/**
 * What a sent column contains when it comes back. `exact`: the text that was sent. `folded`: the same text except for
 * case, blanks and Unicode form. `answer`: an answer of the service.
 */
export type ColumnKind = 'exact' | 'folded' | 'answer';

/** The kinds of the sent columns that came back, by column name. */
export type ColumnKinds = Readonly<Record<string, ColumnKind>>;

/** What the results of a run so far have proven about the sent columns. */
export interface Judgement {
  readonly kinds: Readonly<Record<FileStatus, ColumnKinds>>;
  /**
   * Whether successful results of different records have passed. Before that, a chunk must pass before more is sent.
   */
  readonly isProven: boolean;
  /** The value of `result.echo` at that time. */
  readonly declared: readonly string[] | null;
  /** Whether only `declared` justifies the join, although its columns are too weak to tell the records apart. */
  readonly isOnWord?: boolean;
}

/** How results are matched to records: by the number that was sent, or by the sent columns that come back. */
export type JoinMethod = (
  | { readonly by: 'key'; readonly column: string }
  | { readonly by: 'echo'; readonly columns: readonly string[] }
) & {
  /** Null in a run from before version 0.1.0, which judged nothing. */
  readonly judged: Judgement | null;
};

/**
 * A file of answers that one run, or one import, has bought: the unit in which answers are kept for later runs. The
 * checkpoint has a row for each. A file without a row is a leftover; a row without its file is an error.
 */
export interface Segment {
  /** Unique in the state: the id of the run or import, and a number. Also the name of its file. */
  readonly id: string;
  /** The run or the import that has paid for the answers. */
  readonly run: string;
  /** The identity of the service that gave them: answers are never taken for another service. */
  readonly service: string;
  /** Whether a local service gave them (rule "A rehearsal never looks real"). */
  readonly rehearsal: boolean;
  /** Names of the sent columns, in their order. */
  readonly sentColumns: readonly string[];
  /** The columns that the service added, in the order in which the answers hold them. */
  readonly columns: readonly string[];
  /** `reuse.epoch` when they were bought. */
  readonly epoch: string;
  readonly successful: number;
  readonly failed: number;
  readonly bytes: Bytes;
  /** Hash of the file's directory, which holds a checksum of each piece, hex. */
  readonly sha256: string;
  /**
   * How the records that the run has sent had ended when the segment was made; missing for an import. A run whose
   * records have ended otherwise since then gets a new segment.
   */
  readonly of?: Pick<Counts, 'successful' | 'failed' | 'unprocessed'>;
  /** How many answers were taken out of it, if any. It is then not made again: that would bring the answers back. */
  readonly takenOut?: number;
  /** When its oldest and its newest answer were paid for; epoch milliseconds. */
  readonly oldest: number;
  readonly newest: number;
}

/**
 * Which records of a run's source take an answer that is known, decided once, before anything is paid (rule "Reuse is
 * decided once"). The lists of records are in the answer store, under the run's id.
 */
export interface Choice {
  /** The segments from which answers were taken, by id. The choice holds the answers, so it does not need them later. */
  readonly segments: readonly string[];
  /** `reuse.epoch` of the run: of the answers that it takes, and of those that it buys. */
  readonly epoch: string;
  /** `reuse.maxAge` and `reuse.failedAge`: up to which age answers were taken. */
  readonly maxAge: Milliseconds;
  readonly failedAge: Milliseconds;
  /** Records that are sent. */
  readonly sent: number;
  /** Records that take an answer of an earlier run. */
  readonly reused: { readonly successful: number; readonly failed: number };
  /** Records that take the answer of an earlier, equal record of the same source, which is sent. */
  readonly duplicates: number;
  /** How many of the sent records have an earlier answer that is too old or of another epoch. */
  readonly outdated: number;
  /** The columns of the reused answers: those of the newest segment first. */
  readonly columns: readonly string[];
  /** The columns that the successful reused answers have, each set once, and how many records take such an answer. */
  readonly columnSets: readonly { readonly columns: readonly string[]; readonly records: number }[];
  /** Whether a local service gave any of the reused answers. */
  readonly rehearsal: boolean;
  /** The file with the lists of records: its size, and the hash of its directory in hex; empty if nothing was kept. */
  readonly bytes: Bytes;
  readonly sha256: string;
}

/** How answers that were bought again differ from the earlier ones, for the same sent fields or the same key. */
export interface Drift {
  /** Records with both. */
  readonly compared: number;
  /** Records whose status or a value has changed. */
  readonly changed: number;
  /** By column of the service: records whose value has changed. `status`: they failed before, or fail now. */
  readonly columns: Readonly<Record<string, number>>;
}

/** The delta of a publication: how its rows differ from those of the last one of the pipeline. */
export interface PublishedDelta {
  /** The publication that it is compared with; null: there is none, and every row is added. */
  readonly base: { readonly publication: number; readonly sha256: string } | null;
  /**
   * Why there is no base: `first`, `no-delta-before` (the last publication was made without a delta) or `key` (it had
   * another key). `columns`: the base has other columns, so all rows that are in both count as changed. Else null.
   */
  readonly reason: 'first' | 'no-delta-before' | 'key' | 'columns' | null;
  /** The columns that name a record. */
  readonly key: readonly string[];
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly bytes: Bytes;
  /** Hash of the delta file, hex. */
  readonly sha256: string;
  /** The name of the row digests of the publication. */
  readonly digests: string;
  /** How answers of records that were sent differ from those of the base for the same keys, if any was compared. */
  readonly drift?: Drift;
}
