/**
 * The format of a choice's file: extents of lanes, then the directory. A lane is a range of record numbers; its entries
 * are unordered. All numbers have 32 bits and the byte order of the machine.
 *
 * An entry of an answer: the record's number, the origin, the number of the record that paid, the meta number
 * (segment-format.ts), and the value, filled up to whole numbers. An entry of a pair: the first, the double. A lane of
 * records to send is one bit for each number.
 */
import type { Lane } from './lanes.js';
import type { Origin } from './segment-format.js';

export const CHOICE_FORMAT = 'FOLIOCH1';

/** Numbers of an answer's entry, besides its value. */
export const ANSWER_INTS = 4;
/** Numbers of a pair. */
export const PAIR_INTS = 2;

/** The origin of reused answers. */
export interface ChoiceOrigin extends Origin {
  /** Index of the columns that its successful answers have. */
  readonly layout: number;
}

export interface ChoiceDirectory {
  readonly run: string;
  /** A lane has 2 ** laneBits record numbers. */
  readonly laneBits: number;
  readonly origins: readonly ChoiceOrigin[];
  readonly layouts: readonly (readonly string[])[];
  readonly sent: readonly Lane[];
  readonly reused: readonly Lane[];
  readonly outdated: readonly Lane[];
  readonly byDouble: readonly Lane[];
  readonly byFirst: readonly Lane[];
}

/**
 * Records of a lane: 16,384, so that the answers of a lane fit into the processor's cache, where they are read in the
 * order of the records.
 */
export const LANE_BITS = 14;

/** A set of record numbers, as bits. */
export class NumberSet {
  #words = new Int32Array(1024);

  add(number: number): void {
    const word = number >>> 5;
    if (word >= this.#words.length) this.#grow(word + 1);
    this.#words[word]! |= 1 << (number & 31);
  }

  /** The bits of the numbers from `first` on, a multiple of 32. */
  bits(first: number, count: number): Int32Array {
    const words = count / 32;
    const from = first / 32;
    if (from + words > this.#words.length) this.#grow(from + words);
    return this.#words.subarray(from, from + words);
  }

  copy(): NumberSet {
    const copy = new NumberSet();
    copy.#words = this.#words.slice();
    return copy;
  }

  #grow(words: number): void {
    const larger = new Int32Array(Math.max(words, this.#words.length * 2));
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** Record numbers of a list of `toSend`: few, because V8 keeps large arrays for long after their last use. */
export const LIST_NUMBERS = 4_096;

/** Lists of the numbers that are set. @param after the numbers up to it are left out. */
export function* numbersIn(bits: Int32Array, first: number, after: number): Generator<readonly number[]> {
  let numbers: number[] = [];
  for (let word = 0; word < bits.length; word++) {
    for (let rest = bits[word]!; rest !== 0; rest &= rest - 1) {
      const number = first + word * 32 + (31 - Math.clz32(rest & -rest));
      if (number > after) numbers.push(number);
    }
    if (numbers.length < LIST_NUMBERS) continue;
    yield numbers;
    numbers = [];
  }
  if (numbers.length > 0) yield numbers;
}
