/** What a job reports while it works: one union of events, for programs that embed the library and for the command. */
import type { ChunkState, Run, RunState } from '../checkpoint/checkpoint.js';
import type { Bytes, Milliseconds } from '../types.js';

/**
 * One event. `type` says which kind it is. Times are epoch milliseconds, durations are milliseconds, sizes are bytes.
 * Texts of the service in them are free of control characters.
 */
export type JobEvent =
  | WaitingEvent
  | CopyEvent
  | ScanEvent
  | FoundEvent
  | ProgressEvent
  | PublishedEvent
  | LoadEvent;

/** A wait has begun. No event says when it ends: `waits` of the next `progress` lacks it, or another event follows. */
export type WaitingEvent = { readonly type: 'waiting' } & Wait;

/** Standard input, the answer of a query, or a Parquet file is being copied. Emitted for each piece that is written. */
export interface CopyEvent {
  readonly type: 'copy';
  /** Copied so far. */
  readonly bytes: Bytes;
}

/** The source is being checked, from its beginning to its end, before anything is paid. */
export interface ScanEvent {
  readonly type: 'scan';
  /** Read so far, decoded. */
  readonly bytes: Bytes;
  readonly records: number;
  /** Set in the last event: the whole source is checked. */
  readonly ended?: true;
}

/**
 * It is known which run the job works on. Emitted again when it changes: an interrupted publishing is finished first, and a
 * run whose source has changed is closed first (`source.onChange: supersede`).
 */
export interface FoundEvent {
  readonly type: 'run';
  readonly run: string;
  readonly pipeline: string;
  /**
   * `new`: begun now. `continued`: begun earlier. `done`: complete, nothing is sent. `publishing`: its publishing was
   * interrupted. `outdated`: its source has changed.
   */
  readonly found: 'new' | 'continued' | 'publishing' | 'outdated' | 'done';
}

/**
 * A snapshot of the run. Taken about twice a second while somebody listens, less often in a run of very many chunks, and
 * once more when the run is closed.
 */
export type ProgressEvent = { readonly type: 'progress' } & ProgressSnapshot;

/** The output is in place. */
export interface PublishedEvent {
  readonly type: 'published';
  readonly run: string;
  readonly pipeline: string;
  /** Its number, which increases within the pipeline. */
  readonly publication: number;
  readonly path: string;
  readonly records: number;
  readonly bytes: Bytes;
}

/** A load of a publication into the database of `load.into` has begun or ended. */
export interface LoadEvent {
  readonly type: 'load';
  readonly run: string;
  readonly pipeline: string;
  readonly publication: number;
  readonly table: string;
  /** `already`: an earlier load has done it. `left`: it must not be loaded. An error ends the job, without an event. */
  readonly state: 'begun' | 'loaded' | 'already' | 'left';
  /** Rows written; null while it is not loaded. */
  readonly written: number | null;
}

/** What the job waits for. */
export type Wait =
  | {
      /** Another process holds the lock of the pipeline. */
      readonly on: 'lock';
      readonly since: number;
      /** When the wait is given up; null: never. */
      readonly until: number | null;
      /** Who holds it. */
      readonly why: string;
    }
  | {
      /** The service has named a time before which no request may be sent. */
      readonly on: 'throttle';
      readonly since: number;
      readonly until: number;
      readonly why: string;
    }
  | {
      /** A request to the service fails and is tried again. */
      readonly on: 'outage';
      readonly since: number;
      /** When `retry.giveUpAfter` ends. */
      readonly until: number;
      /** The request, and how it failed last. */
      readonly why: string;
    };

/** How a run stands. Counts of records are those of the source, without rejected ones, unless said otherwise. */
export interface ProgressSnapshot {
  readonly run: string;
  readonly pipeline: string;
  readonly state: RunState;
  /** When it was taken. */
  readonly at: number;
  readonly createdAt: Run['createdAt'];
  /** Whether a local service has answered: nothing is paid for then. */
  readonly rehearsal: boolean;
  /** Rows of the output. */
  readonly records: number;
  /** Records to send; those that take a known answer are left out. */
  readonly toSend: number;
  /** Failed records that are sent once more (`failures.rounds`), in addition to `toSend`. */
  readonly sentAgain: number;
  /** Records of `toSend` and `sentAgain` that wait for no answer: it is downloaded, or they were given up. */
  readonly answered: number;
  /** Chunks in all; null until the source is cut completely. */
  readonly chunks: number | null;
  /** Chunks by state. */
  readonly byState: Readonly<Record<ChunkState, number>>;
  /** Records of the chunks in each state. */
  readonly recordsByState: Readonly<Record<ChunkState, number>>;
  /** What is written to the output so far: whole chunks, and rows. */
  readonly merged: { readonly chunks: number; readonly records: number };
  readonly failed: {
    /** Records whose answer is downloaded, and that failed. If a record was sent again, its last answer counts. */
    readonly records: number;
    /** Records of the source that were sent, and whose answer is downloaded. */
    readonly of: number;
    /**
     * Why records of the written rows (`merged`) failed, and why records are UNPROCESSED: at most five reasons, the most
     * frequent first.
     */
    readonly reasons: readonly {
      readonly code: string;
      /** As the service wrote it; null for all other reasons with this code. */
      readonly reason: string | null;
      readonly records: number;
    }[];
  };
  readonly folios: {
    /** How many are open at the service. */
    readonly open: number;
    /** How many open folios the service allows, if it has refused more to this process; else null. */
    readonly admitted: number | null;
    /** The oldest open folios, at most five. */
    readonly oldest: readonly OpenFolio[];
  };
  /** Records answered a second, on average, by this process; null while it has answered none. Never negative. */
  readonly rate: number | null;
  /** Time until all records are answered at this rate; null if it is not known. */
  readonly etaMs: Milliseconds | null;
  readonly waits: readonly Wait[];
}

/** A folio that is open at the service. */
export interface OpenFolio {
  readonly chunk: number;
  readonly folio: string;
  readonly records: number;
  readonly ageMs: Milliseconds;
  /** 0 to 100, as the service gave it last; null if it has given this process none. */
  readonly percentage: number | null;
}

/**
 * Takes the events of a job, in their order. It must return soon. What it throws is logged once, and then it is called
 * no more; the job goes on.
 */
export interface OnProgress {
  (event: JobEvent): void;
  /** While it returns false, no snapshots are taken. Left out: they always are. */
  readonly isHeard?: () => boolean;
}
