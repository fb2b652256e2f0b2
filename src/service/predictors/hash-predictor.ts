/** Predicts in constant time from a hash of the name's bytes, for rehearsals of any size; means nothing. */
import { HASH_INDUSTRIES } from './hash-industries.js';
import { type Failure, NAME_EMPTY, type Prediction, type Predictor } from './predictor.js';

/** One name in so many fails. */
const FAILING_SHARE = 50;
const FAILED: Failure = { reason: 'no industry matches the name' };
const CONFIDENCES = 50;
const QUOTE = 0x22;

/** Every prediction that can come out, made once: 0.50 to 0.99 for each industry. */
const PREDICTIONS: readonly Prediction[] = HASH_INDUSTRIES.flatMap(([code, title]) =>
  Array.from({ length: CONFIDENCES }, (_, step) => ({ code, title, confidence: (50 + step) / 100 })),
);

/** Fails about one name in fifty, always the same ones. */
export function createHashPredictor(): Predictor {
  return {
    predict(name) {
      const bytes = Buffer.from(name);
      return bytes.length === 0 ? NAME_EMPTY : outcome(hashBytes(bytes, 0, bytes.length, false));
    },
    predictRaw(bytes, start, end) {
      const quoted = end - start >= 2 && bytes[start] === QUOTE;
      const from = quoted ? start + 1 : start;
      const to = quoted ? end - 1 : end;
      return from === to ? NAME_EMPTY : outcome(hashBytes(bytes, from, to, quoted));
    },
  };
}

function outcome(hash: number): Prediction | Failure {
  if (hash % FAILING_SHARE === 0) return FAILED;
  return PREDICTIONS[Math.floor(hash / FAILING_SHARE) % PREDICTIONS.length]!;
}

/** FNV-1a (32 bits) with a final mix, as its low bits alone are too even; a doubled quote counts once. */
function hashBytes(bytes: Uint8Array, start: number, end: number, quoted: boolean): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (quoted && byte === QUOTE) at++;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
