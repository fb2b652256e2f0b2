/** What is kept of a night: the facts about one whole output of a run, to compare later nights with. */

import type { FailureReason } from '../failure-reasons.js';
import type { Counts, Origins } from '../types.js';

/** The facts that are stored with a publication. They are small: a few kilobytes, however many records there were. */
export interface NightFacts {
  /** When the run began, and when its first whole output was ready; epoch milliseconds. */
  readonly began: number;
  readonly ended: number;
  readonly rehearsal: boolean;
  readonly counts: Counts;
  readonly origins: Origins;
  /** Columns that the service adds, in output order. */
  readonly columns: readonly string[];
  /** Records that the run has paid for, or may have paid for; 0 in a rehearsal. */
  readonly paid: number;
  /** What they cost, with the price of that night; null without `budget.pricePerRecord`. */
  readonly amount: number | null;
  readonly currency: string;
  /** Answers that were bought again, and how many of them have changed; null if none was. */
  readonly drift: { readonly compared: number; readonly changed: number } | null;
  /** Why records have no prediction. */
  readonly reasons: readonly FailureReason[];
  /** Null without `result.report`. */
  readonly predictions: Predictions | null;
}

/** The facts of one whole output, with the run and the publication that they belong to. */
export interface Night extends NightFacts {
  readonly run: string;
  readonly publication: number;
}

/** How often each code was given, and with what confidence, over all SUCCESSFUL rows of an output. */
export interface Predictions {
  /** The names of the columns, as the service calls them. */
  readonly code: string | null;
  readonly confidence: string | null;
  /** SUCCESSFUL rows with a code. */
  readonly coded: number;
  /** The commonest codes, at most 50, the commonest first. */
  readonly codes: readonly CodeCount[];
  /** All other codes. */
  readonly rest: {
    /** How many different codes; a lower bound, because counting stops at 10,000 of them. */
    readonly codes: number;
    readonly records: number;
  };
  /** Null if no row has a number as its confidence. */
  readonly confidences: ConfidenceCount | null;
}

export interface CodeCount {
  readonly code: string;
  readonly records: number;
  /** The mean of their confidences; null if none of them has one. */
  readonly confidence: number | null;
}

export interface ConfidenceCount {
  /** Rows whose confidence is a number. */
  readonly records: number;
  /** Rows whose confidence is something else, or empty. */
  readonly unreadable: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** The upper end of the scale: 1, or 100 if a confidence is above 1. The lower end is 0. */
  readonly scale: 1 | 100;
  /** Rows in each twentieth of the scale, from 0 on. The upper end counts in the last one. */
  readonly bins: readonly number[];
  /** Rows outside of the scale. */
  readonly outside: number;
}
