/**
 * The port to the answers that were bought on earlier nights, and to the choices of runs: which records take which of
 * these answers. The checkpoint knows which segments and choices are valid; this store holds their content.
 */
import type { Batch, Table } from '../csv/table.js';
import type { Answers, NumberedAnswers } from '../results/answers.js';
import type { Bytes, Choice, Counts, Milliseconds, Segment } from '../types.js';

/** Where the answers of earlier runs are kept. */
export interface AnswerStore {
  /**
   * Begins to look up the records of a source.
   * @throws ConfigError `REUSE_SECRET_LOST` when there are segments but no secret; `REUSE_SEGMENT_LOST`,
   *   `REUSE_SEGMENT_DAMAGED` naming the segment and what to do: a silent miss would pay again.
   */
  openLookup(options: LookupOptions): Promise<AnswerLookup>;
  /**
   * Opens the choice of a run.
   * @throws ConfigError `REUSE_CHOICE_LOST`, `REUSE_CHOICE_DAMAGED`.
   */
  openChoice(run: string, choice: Choice): Promise<ChosenAnswers>;
  /** Removes the choice of a run. A run without one is no error. */
  removeChoice(run: string): Promise<void>;
  /** Begins a segment. Its file appears whole when `finish` has resolved. */
  openSegment(options: SegmentOptions): Promise<SegmentWriter>;
  /** Carries answers of a run from records to their doubles. */
  openCarried(options: CarryOptions): Promise<CarriedAnswers>;
  /**
   * Writes a segment again, under another id, without some of its answers. It stays the segment of its run even if
   * nothing is left in it, which records that these answers are not wanted.
   * @returns the new row, and how many answers were dropped; undefined if there was none to drop: then nothing is
   *   written.
   * @throws as `openLookup`; if all answers are unwanted, the old file may be lost or damaged.
   */
  rewriteSegment(segment: Segment, id: string, unwanted: Unwanted): Promise<Rewritten | undefined>;
  /** Reads the files of all segments, whether or not the checkpoint knows them, and checks every byte. */
  storedSegments(): Promise<StoredSegments>;
  /** Bytes of the file of a segment; undefined if it is missing. Does not read the file. */
  sizeOfSegment(id: string): Promise<Bytes | undefined>;
  /** Removes the file of a segment. A missing file is no error. */
  removeSegment(id: string): Promise<void>;
  /** Removes a damaged secret, which finds no answers. Called only when no answers are left: then a new one is made. */
  removeDamagedSecret(): Promise<void>;
  /**
   * Removes what interrupted processes have left: files of segments and choices that no row of the checkpoint names.
   */
  removeLeftovers(known: {
    readonly segments: ReadonlySet<string>;
    readonly runs: ReadonlySet<string>;
  }): Promise<void>;
}

/** How the sent fields of a record are found in a batch of the source. */
export interface SentFields {
  /** Indexes of the sent columns in the source, in the order in which they are sent. */
  readonly fields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
}

export interface LookupOptions extends SentFields {
  /** Names of the sent columns: a part of the key of the hashes. */
  readonly sentColumns: readonly string[];
  /** The segments to take answers from, in the order in which they decide. */
  readonly segments: readonly Segment[];
  /** The ids of segments of which no FAILED answer is taken: those of withheld runs. Missing: none. */
  readonly withheld?: ReadonlySet<string>;
  readonly duplicates: 'send' | 'once';
  /** Whether records that are blank in all sent columns are not sent. */
  readonly skipsBlank: boolean;
}

export interface AnswerLookup {
  /** Adds the records of a batch. Batches come in the order of the source. */
  add(batch: Batch): Promise<void>;
  /**
   * Decides for each record that was added. The first segment that holds its hash decides: its answer is taken if it is
   * of the epoch and young enough. Else a newer answer of a later segment decides, and without one the record is sent.
   * @param run the choice is kept durably under its id.
   */
  decide(terms: ReuseTerms, run: string): Promise<Choice>;
  /** Decides in the same way, and keeps nothing. */
  plan(terms: ReuseTerms): Promise<PlannedChoice>;
  /** Frees the temporary files. */
  close(): Promise<void>;
}

/** A choice that is not kept. It can still be read when the look-up is closed. */
export interface PlannedChoice extends Pick<ChosenAnswers, 'toSend'> {
  readonly choice: Choice;
  /** Records that are sent although an equal record comes earlier: what `upload.duplicates: once` would not send. */
  readonly equal: number;
}

export interface ReuseTerms {
  /** Epoch milliseconds. */
  readonly now: number;
  /** How long a SUCCESSFUL answer is taken. The hash of a record shortens it by up to a fifth. */
  readonly maxAge: Milliseconds;
  /** How long a FAILED answer is taken. */
  readonly failedAge: Milliseconds;
  readonly epoch: string;
}

/** What a run has chosen. All lists ascend by record number and are read in pieces, so memory stays flat. */
export interface ChosenAnswers {
  /** The numbers of the records to send, beginning after a record. */
  toSend(after: number): AsyncGenerator<readonly number[]>;
  /**
   * The reused answers of the records from a number on. Their tables are joined (`PartTable.isJoined`), and their
   * arrays are from `takeNumbers` (streams/large-buffers.ts): the caller may give them back after use.
   * @param lineage whether the sources name the run, folio, part and time of their answers.
   */
  reused(from: number, lineage: boolean): AsyncGenerator<NumberedAnswers>;
  /** The answers that are too old or of another epoch, for records that are sent, to compare with the new ones. */
  outdated(from: number): AsyncGenerator<NumberedAnswers>;
  /** Pairs of equal records, ordered by the double: `firsts[i]` is sent, and `doubles[i]` takes its answer. */
  byDouble(from: number): AsyncGenerator<DoublePairs>;
  /** The same pairs, ordered by the first and then by the double. */
  byFirst(from: number): AsyncGenerator<DoublePairs>;
  close(): Promise<void>;
}

/** Opens a choice only when it is read for the first time. */
export function openLater(open: () => Promise<ChosenAnswers>): ChosenAnswers {
  let opened: Promise<ChosenAnswers> | undefined;
  const choice = () => (opened ??= open());
  return {
    toSend: async function* (after) {
      yield* (await choice()).toSend(after);
    },
    reused: async function* (from, lineage) {
      yield* (await choice()).reused(from, lineage);
    },
    outdated: async function* (from) {
      yield* (await choice()).outdated(from);
    },
    byDouble: async function* (from) {
      yield* (await choice()).byDouble(from);
    },
    byFirst: async function* (from) {
      yield* (await choice()).byFirst(from);
    },
    close: async () => {
      // The error was thrown where the choice was read.
      const found = await opened?.catch(() => undefined);
      await found?.close();
    },
  };
}

export interface DoublePairs {
  readonly firsts: Int32Array;
  readonly doubles: Int32Array;
}

export interface CarryOptions {
  readonly run: string;
  /** The largest record number. */
  readonly records: number;
  /** The columns that the service adds. */
  readonly columns: readonly string[];
  /** Names of the uploaded file's columns, the key's included. */
  readonly uploadColumns: ReadonlySet<string>;
  /** Whether the sources of the answers name the run, folio, part and time. */
  readonly lineage: boolean;
}

/** Answers on their way to the doubles of their records. They need not survive the process. */
export interface CarriedAnswers {
  /**
   * Keeps the answer of each record for a double of it.
   * @param firsts the records, and their answers; a record that has several doubles appears several times.
   * @param doubles the number of each double.
   */
  keep(firsts: NumberedAnswers, doubles: Int32Array): void;
  /** The answers that were kept for doubles from a number up to another; later ones may follow. */
  upTo(from: number, last: number): Iterable<NumberedAnswers>;
  close(): void;
}

/** Which answers a segment loses: all of them; those from before a time; or those of some records. */
export type Unwanted =
  | { readonly all: true }
  /** Epoch milliseconds. */
  | { readonly before: number }
  | { readonly records: Table; readonly fields: SentFields };

export interface Rewritten {
  readonly segment: Segment;
  readonly dropped: Pick<Counts, 'successful' | 'failed'>;
}

export interface StoredSegments {
  /** As their files describe them; ordered by id. */
  readonly segments: readonly Segment[];
  /** Paths of the damaged files. */
  readonly damaged: readonly string[];
}

export interface SegmentOptions
  extends Pick<Segment, 'id' | 'run' | 'service' | 'rehearsal' | 'sentColumns' | 'columns' | 'epoch' | 'of'> {
  /** Name of the key's column in the uploaded file; null if it has none. */
  readonly keyColumn: string | null;
}

export interface SegmentWriter {
  /**
   * Adds the answered records of one chunk, or of some rows. Leaves out records that are blank in all sent columns, and
   * answers that the service did not give for them: refused, unprocessed, reused.
   * @param rows rows of an uploaded file: comma, the key if there is one, and the sent columns.
   * @param numbers the records' numbers in the source.
   */
  add(rows: Table, numbers: Int32Array, answers: Answers): Promise<void>;
  /** Makes the file durable, and returns the row that the checkpoint needs. */
  finish(): Promise<Segment>;
  /** Removes what was written; does nothing after `finish`. */
  close(): Promise<void>;
}
