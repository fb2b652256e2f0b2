/**
 * Counts the codes and confidences of an output's rows, from bytes: makes no text of a row, because half a million of them
 * may come in a second. Memory is bounded, whatever the column holds.
 */
import type { ConfidenceCount, Predictions } from '../checkpoint/checkpoint.js';
import { ZERO } from '../csv/bytes.js';
import { fieldEnd, fieldStart, fieldText, type Table } from '../csv/table.js';

/** Indexes of the columns in the output. */
interface PredictionFields {
  readonly status: number;
  /** -1 if codes, or confidences, are not counted. */
  readonly code: number;
  readonly confidence: number;
}

interface PredictionCounter {
  /** Adds the next rows. Only SUCCESSFUL ones count. */
  add(rows: Table): void;
  counted(names: Pick<Predictions, 'code' | 'confidence'>): Predictions;
}

/** Most different codes that are counted one by one. All further ones count together, as one code of the rest. */
const MAX_CODES = 10_000;
/** Most codes that the counts name. */
const TOP_CODES = 50;
/** A power of two, more than twice `MAX_CODES`. */
const SLOTS = 32_768;
/** A longer code is cut to this length. */
const MAX_CODE_BYTES = 64;
const BINS = 20;
const S = 'S'.charCodeAt(0);

export function createPredictionCounter(fields: PredictionFields): PredictionCounter {
  /** Index of a code in the arrays below, plus one; 0: the slot is free. */
  const slots = new Int32Array(SLOTS);
  const texts: Buffer[] = [];
  const records: number[] = [];
  const sums: number[] = [];
  const rated: number[] = [];
  let coded = 0;
  let beyond = 0;
  const confidences = createConfidenceCounter();

  /** @returns the index of the code; -1 if there are too many already. */
  const find = (bytes: Uint8Array, from: number, end: number): number => {
    const to = Math.min(end, from + MAX_CODE_BYTES);
    let hash = 0x811c9dc5;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    for (let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1); ; slot = (slot + 1) & (SLOTS - 1)) {
      const index = slots[slot]! - 1;
      if (index >= 0) {
        if (isEqual(texts[index]!, bytes, from, to)) return index;
        continue;
      }
      if (texts.length === MAX_CODES) return -1;
      slots[slot] = texts.push(Buffer.from(bytes.subarray(from, to)));
      records.push(0);
      sums.push(0);
      rated.push(0);
      return texts.length - 1;
    }
  };

  return {
    add: (rows) => {
      const { bytes, count } = rows;
      for (let row = 0; row < count; row++) {
        if (bytes[fieldStart(rows, row, fields.status)] !== S) continue;
        let confidence = Number.NaN;
        if (fields.confidence >= 0) {
          confidence = numberIn(
            bytes,
            fieldStart(rows, row, fields.confidence),
            fieldEnd(rows, row, fields.confidence),
          );
          confidences.add(confidence);
        }
        if (fields.code < 0) continue;
        const from = fieldStart(rows, row, fields.code);
        const end = fieldEnd(rows, row, fields.code);
        if (end === from) continue;
        coded += 1;
        const index = find(bytes, from, end);
        if (index < 0) {
          beyond += 1;
          continue;
        }
        records[index]! += 1;
        if (Number.isNaN(confidence)) continue;
        sums[index]! += confidence;
        rated[index]! += 1;
      }
    },
    counted: (names) => {
      const all = texts.map((text, index) => ({
        code: fieldText(text, 0, text.length),
        records: records[index]!,
        confidence: rated[index] === 0 ? null : sums[index]! / rated[index]!,
      }));
      all.sort((a, b) => b.records - a.records || (a.code < b.code ? -1 : 1));
      const codes = all.slice(0, TOP_CODES);
      const known = codes.reduce((sum, one) => sum + one.records, 0);
      const others = all.length - codes.length + (beyond > 0 ? 1 : 0);
      return {
        ...names,
        coded,
        codes,
        rest: { codes: others, records: coded - known },
        confidences: confidences.counted(),
      };
    },
  };
}

function isEqual(text: Buffer, bytes: Uint8Array, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let at = from; at < to; at++) if (text[at - from] !== bytes[at]) return false;
  return true;
}

/** Counts the bins of both scales, because the scale is known only at the end. */
function createConfidenceCounter() {
  const ofOne = new Float64Array(BINS);
  const ofHundred = new Float64Array(BINS);
  let records = 0;
  let unreadable = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  return {
    add: (value: number) => {
      if (Number.isNaN(value)) {
        unreadable += 1;
        return;
      }
      records += 1;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
      if (value < 0 || value > 100) return;
      if (value <= 1) ofOne[Math.min(Math.floor(value * BINS), BINS - 1)]! += 1;
      ofHundred[Math.min(Math.floor((value * BINS) / 100), BINS - 1)]! += 1;
    },
    counted: (): ConfidenceCount | null => {
      if (records === 0) return null;
      const scale = max > 1 ? 100 : 1;
      const bins = [...(scale === 1 ? ofOne : ofHundred)];
      const inside = bins.reduce((all, one) => all + one, 0);
      return { records, unreadable, mean: sum / records, min, max, scale, bins, outside: records - inside };
    },
  };
}

const POINT = 46;
/** This many digits are exact in a double. */
const MAX_DIGITS = 15;
const POWERS = Array.from({ length: MAX_DIGITS + 1 }, (_, digits) => 10 ** digits);

/** The number in a field; NaN if it holds something else or nothing. */
function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  let decimals = -1;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= ZERO + 9 && to - from <= MAX_DIGITS) {
      value = value * 10 + (byte - ZERO);
      if (decimals >= 0) decimals += 1;
    } else if (byte === POINT && decimals < 0 && to - from <= MAX_DIGITS) decimals = 0;
    else return otherNumber(bytes, from, to);
  }
  if (to - from === 0 || (decimals === 0 && to - from === 1)) return Number.NaN;
  return decimals > 0 ? value / POWERS[decimals]! : value;
}

/** A number that is written in another way, such as `"0.5"`, `-1` or `9e-1`. */
function otherNumber(bytes: Uint8Array, from: number, to: number): number {
  const text = fieldText(bytes, from, to).trim();
  const value = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : Number.NaN;
}
