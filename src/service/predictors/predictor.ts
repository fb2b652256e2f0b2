/** The port to what predicts: one business in, its industry or the reason for having none out. */

export interface Prediction {
  /** A six-digit NAICS code of 2017. */
  readonly code: string;
  readonly title: string;
  /** 0 to 1. */
  readonly confidence: number;
}

export interface Failure {
  readonly reason: string;
}

export interface Predictor {
  /** Same business, same answer. */
  predict(name: string, address: string, state: string): Prediction | Failure;
  /** The answer of `predict` straight from the name's raw CSV field, where the name alone decides. */
  predictRaw?(bytes: Uint8Array, start: number, end: number): Prediction | Failure;
}

/** Whether a prediction was made. */
export function isPrediction(outcome: Prediction | Failure): outcome is Prediction {
  return !('reason' in outcome);
}

/** Both predictors fail a record without a name so. */
export const NAME_EMPTY: Failure = { reason: 'the name is empty' };
