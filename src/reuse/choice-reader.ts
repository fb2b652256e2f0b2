/** Reads the choice of a run, lane by lane. */
import { ConfigError } from '../errors.js';
import type { NumberedAnswers } from '../results/answers.js';
import { takeNumbers } from '../streams/large-buffers.js';
import type { Choice } from '../types.js';
import type { ChosenAnswers, DoublePairs } from './answer-store.js';
import { answersOfLane } from './answer-tables.js';
import { type IntBuffers, Scratch } from './append-file.js';
import { openChecked } from './checked-file.js';
import { ANSWER_INTS, CHOICE_FORMAT, type ChoiceDirectory, numbersIn, PAIR_INTS } from './choice-format.js';
import { type Lane, laneSize, readLane } from './lanes.js';
import { valueInts } from './segment-format.js';

/** @throws ConfigError `REUSE_CHOICE_LOST`, `REUSE_CHOICE_DAMAGED`. */
export function openChoiceReader(run: string, choice: Choice, path: string): ChosenAnswers {
  const damaged = () => choiceError(run, path);
  const file = openChecked<ChoiceDirectory>(path, CHOICE_FORMAT, choice, {
    lost: (cause) => choiceError(run, path, cause),
    damaged,
  });
  const { directory } = file;
  if (directory.run !== run) {
    file.close();
    throw damaged();
  }
  const { laneBits } = directory;

  /**
   * The lanes that hold numbers from `from` on, with their smallest numbers. Each is read when it is asked for.
   * @param scratch used by this generator only: it may wait while another one reads.
   */
  const lanesFrom = function* (lanes: readonly Lane[], from: number, scratch: IntBuffers = new Scratch()) {
    for (let lane = Math.max(0, from) >>> laneBits; lane < lanes.length; lane++) {
      if (laneSize(lanes[lane]!) === 0) continue;
      yield { ints: readLane(file.fd, lanes[lane]!, scratch, damaged), first: lane * 2 ** laneBits };
    }
  };
  // The caller may still use the answers of a lane when it takes those of the next one.
  const taken: IntBuffers = { ints: takeNumbers };
  const reused = async function* (from: number, lineage: boolean) {
    for (const { ints, first } of lanesFrom(directory.reused, from, taken)) {
      const found: NumberedAnswers = answersOfLane(ints, first, from, directory, lineage);
      if (found.numbers.length > 0) yield found;
    }
  };
  const outdated = async function* (from: number) {
    const scratch = new Scratch();
    for (const { ints, first } of lanesFrom(directory.outdated, from, taken)) {
      const sent = readLane(file.fd, directory.sent[first / 2 ** laneBits]!, scratch, damaged);
      const found = answersOfLane(onlySent(ints, first, sent), first, from, directory, true);
      if (found.numbers.length > 0) yield found;
    }
  };
  const pairs = async function* (lanes: readonly Lane[], from: number, sortedBy: 0 | 1) {
    for (const { ints, first } of lanesFrom(lanes, from)) {
      const found = sortedPairs(ints, first, from, 2 ** laneBits, sortedBy);
      if (found.firsts.length > 0) yield found;
    }
  };

  return {
    toSend: async function* (after) {
      for (const { ints, first } of lanesFrom(directory.sent, after + 1)) {
        yield* numbersIn(ints, first, after);
      }
    },
    reused,
    outdated,
    byDouble: (from) => pairs(directory.byDouble, from, 1),
    byFirst: (from) => pairs(directory.byFirst, from, 0),
    close: async () => file.close(),
  };
}

/**
 * The entries of records that are sent. The other records take a newer answer, which was found later.
 * @param ints the entries of a lane, which are overwritten.
 * @param first smallest number of the lane.
 * @param sent its records to send, as bits.
 */
function onlySent(ints: Int32Array<ArrayBuffer>, first: number, sent: Int32Array): Int32Array<ArrayBuffer> {
  let to = 0;
  for (let at = 0; at < ints.length; ) {
    const size = ANSWER_INTS + valueInts(ints[at + 3]!);
    const place = ints[at]! - first;
    if ((sent[place >>> 5]! & (1 << (place & 31))) !== 0) {
      ints.copyWithin(to, at, at + size);
      to += size;
    }
    at += size;
  }
  return ints.subarray(0, to);
}

/**
 * Sorts pairs. Pairs with the same first are already ordered by their doubles, and stay so.
 * @param sortedBy 0: by the first; 1: by the double.
 */
function sortedPairs(
  ints: Int32Array,
  first: number,
  from: number,
  numbers: number,
  sortedBy: 0 | 1,
): DoublePairs {
  // Index after the pairs with smaller numbers.
  const places = new Int32Array(numbers + 1);
  let count = 0;
  for (let at = 0; at < ints.length; at += PAIR_INTS) {
    const number = ints[at + sortedBy]!;
    if (number < from) continue;
    places[number - first + 1]! += 1;
    count += 1;
  }
  for (let number = 0; number < numbers; number++) places[number + 1]! += places[number]!;
  const firsts = new Int32Array(count);
  const doubles = new Int32Array(count);
  for (let at = 0; at < ints.length; at += PAIR_INTS) {
    const number = ints[at + sortedBy]!;
    if (number < from) continue;
    const place = places[number - first]!++;
    firsts[place] = ints[at]!;
    doubles[place] = ints[at + 1]!;
  }
  return { firsts, doubles };
}

/** @param missing the error of the system for a missing file; left out for a damaged one. */
function choiceError(run: string, path: string, missing?: unknown): ConfigError {
  const isDamaged = missing === undefined;
  return new ConfigError(
    isDamaged ? 'REUSE_CHOICE_DAMAGED' : 'REUSE_CHOICE_LOST',
    `${path}: the file that says which answers run ${run} reuses is ${isDamaged ? 'damaged' : 'missing'}`,
    { facts: { run, file: path }, ...(!isDamaged && { cause: missing }) },
  );
}
