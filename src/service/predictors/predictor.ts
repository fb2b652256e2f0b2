/** The port of a predictor: takes a business and returns its industry, or the reason why there is none. */
import type { FileStatus } from '../../types.js';

/** The columns that the service adds to the uploaded ones. */
export const ADDED_COLUMNS: Readonly<Record<FileStatus, readonly string[]>> = {
  SUCCESSFUL: ['naics_code', 'naics_title', 'confidence'],
  FAILED: ['reason'],
};

export interface Prediction {
  /** Six digits, NAICS 2017. */
  readonly code: string;
  readonly title: string;
  /** 0 to 1. */
  readonly confidence: number;
}

export interface Failure {
  readonly reason: string;
}

export interface Predictor {
  /** Deterministic: the same business always gets the same answer. */
  predict(name: string, address: string, state: string): Prediction | Failure;
  /** The same answer from the name's raw CSV field, for predictors that use only the name. */
  predictRaw?(bytes: Uint8Array, start: number, end: number): Prediction | Failure;
}

export function isPrediction(outcome: Prediction | Failure): outcome is Prediction {
  return !('reason' in outcome);
}

/** The failure of a record without a name, the same for every predictor. */
export const NAME_EMPTY: Failure = { reason: 'the name is empty' };
