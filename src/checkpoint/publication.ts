/** How a run ends, as it is stored: its output is published, and loaded, or withheld, or its rows are confirmed. */
import type { FailureReason } from '../failure-reasons.js';
import type { PublishedSettings } from '../output-format.js';
import type { Counts, Drift, Origins, PublishedDelta } from '../types.js';
import type { NightFacts } from './night.js';

/** A published output, with its length and hash from just before it was put in place. */
export interface Publication {
  /** From 1, increasing within the pipeline. */
  readonly number: number;
  /** Of the file as it is stored. */
  readonly bytes: number;
  readonly sha256: string;
  /** Of the CSV in it; left out if that is the file itself. */
  readonly content?: Pick<Publication, 'bytes' | 'sha256'>;
  readonly records: number;
  readonly exitCode: number;
  /** Whether it was written at a deadline, before the run was done; the run is open again after it. */
  readonly partial: boolean;
  /** Kept here because the chunks lose their counts when the output is written again. */
  readonly counts: Counts;
  /** The same by origin. Missing in publications from before version 0.1.0, which sent every record. */
  readonly origins?: Origins;
  /** Columns that the service adds, in output order. */
  readonly resultColumns: readonly string[];
  /** Its path and format. An interrupted publishing is finished with these values, even if the config has changed. */
  readonly output: PublishedSettings;
  /** Left out if it has none. */
  readonly delta?: PublishedDelta;
  /** Missing if no answer was bought again. */
  readonly drift?: Drift;
  /** Why rows of a partial one have no prediction; a whole one has them in `night`. */
  readonly reasons?: readonly FailureReason[];
  /** Its list of rejected records. Missing if there are none, and in older publications. */
  readonly rejects?: Pick<Publication, 'bytes' | 'sha256'>;
  /** Its lists of differences (`output.drift`). Missing if there are none, and in older publications. */
  readonly lists?: Readonly<Partial<Record<'drift' | 'keyDrift', Pick<Publication, 'bytes' | 'sha256'>>>>;
  /** When all of it was ready to be put in place, in epoch milliseconds. Missing in older publications. */
  readonly at?: number;
  /** What later nights are compared with. Missing in partial and in older publications. */
  readonly night?: NightFacts;
}

/** Why a complete run is withheld: how its records have ended, which the chunks no longer show after a prune. */
export interface Withheld {
  readonly counts: Counts;
  readonly origins: Origins;
  /** `failures.tolerate` at that time: a share from 0 to 1. */
  readonly tolerate: number;
}

/** How a run has ended whose rows went to a sink of the embedding program, which has confirmed that it has them. */
export interface Confirmed extends Pick<Publication, 'exitCode' | 'counts' | 'resultColumns' | 'drift'> {
  readonly origins: Origins;
  /** Why records have no prediction. Kept here, because no output has its rows. Missing in older confirmations. */
  readonly reasons?: readonly FailureReason[];
}

/** A publication before it has a number. */
export type NewPublication = Omit<Publication, 'number'>;

/** The data that is kept of each publication, to recognise the file later. */
export interface PublishedFile extends Pick<Publication, 'number' | 'bytes' | 'sha256'> {
  readonly run: string;
  readonly path: string;
  /** Stamp of the file just after it was put in place; null if it is not known. */
  readonly stamp: string | null;
  /** Whether the run is a sample of the first records: its file is no output of a night. */
  readonly isSample: boolean;
}

/** How the last attempt to load a publication of a run has ended. Only the database knows what is in the table. */
export interface RecordedLoad {
  readonly publication: number;
  /** The database, without user and password, and the table. */
  readonly into: string;
  readonly table: string;
  readonly mode: 'append' | 'replace' | 'merge';
  /** `already`: it was loaded before, by an attempt that could not record it. */
  readonly state: 'loaded' | 'already' | 'left' | 'failed';
  /** Why it was not loaded (`left`), or has failed; else null. */
  readonly why: string | null;
  /** The code of the error; null if it has not failed. */
  readonly code: string | null;
  readonly base: number | null;
  readonly written: number;
  readonly removed: number;
  readonly added: readonly string[];
  /** Epoch milliseconds. */
  readonly at: number;
}
