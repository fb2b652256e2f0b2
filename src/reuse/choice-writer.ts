/** Collects what is decided for the records of a run, and writes it as the run's choice. */
import type { Segment } from '../types.js';
import type { AppendFile } from './append-file.js';
import type { StoppedAnswer } from './bucket-join.js';
import { type FileIdentity, writeDirectory } from './checked-file.js';
import {
  ANSWER_INTS,
  CHOICE_FORMAT,
  type ChoiceDirectory,
  type ChoiceOrigin,
  type NumberSet,
  PAIR_INTS,
} from './choice-format.js';
import { appendExtent, type LaneRoom, type LaneShape, LaneWriter, laneIntsFor, noExtents } from './lanes.js';
import { type Origin, valueInts } from './segment-format.js';

/** The most lanes: each has a buffer. */
const MAX_LANES = 8 * 1024;

/**
 * The lanes of a choice.
 * @param numbers more than the largest record number.
 * @param fewestBits the bits of a lane; more if there would be too many lanes.
 */
export function choiceLanes(numbers: number, fewestBits: number): LaneShape {
  const laneBits = Math.max(fewestBits, Math.ceil(Math.log2(numbers / MAX_LANES)));
  const lanes = Math.ceil(numbers / 2 ** laneBits);
  return { lanes, laneBits, laneInts: laneIntsFor(lanes) };
}

export class ChoiceWriter {
  readonly #file: AppendFile;
  readonly #reused: LaneWriter;
  readonly #outdated: LaneWriter;
  readonly #laneBits: number;
  readonly #lanes: number;
  /** The pairs, by doubles and by firsts. Created with the first pair: most sources have none. */
  #pairs: { readonly byDouble: LaneWriter; readonly byFirst: LaneWriter } | undefined;
  readonly #origins: ChoiceOrigin[] = [];
  readonly #layouts: string[][] = [];

  /** @param rooms the buffers of `reused` and `outdated`, which others may fill too. */
  constructor(file: AppendFile, { lanes, laneBits }: LaneShape, rooms: readonly [LaneRoom, LaneRoom]) {
    this.#file = file;
    this.#laneBits = laneBits;
    this.#lanes = lanes;
    this.#reused = new LaneWriter(file, lanes, rooms[0]);
    this.#outdated = new LaneWriter(file, lanes, rooms[1]);
  }

  /** Index of an origin of a segment, for `answer`. */
  addOrigin(origin: Origin, { columns }: Segment): number {
    const names = JSON.stringify(columns);
    let layout = this.#layouts.findIndex((known) => JSON.stringify(known) === names);
    if (layout < 0) layout = this.#layouts.push([...columns]) - 1;
    return this.#origins.push({ ...origin, layout }) - 1;
  }

  /** Adds an answer that the join could not write itself. */
  answer({ isTaken, number, index, paid, meta, values, from }: StoppedAnswer): void {
    const list = isTaken ? this.#reused : this.#outdated;
    const words = valueInts(meta);
    const at = list.begin(number >>> this.#laneBits, ANSWER_INTS + words);
    const { ints } = list;
    ints[at] = number;
    ints[at + 1] = index;
    ints[at + 2] = paid;
    ints[at + 3] = meta;
    for (let i = 0; i < words; i++) ints[at + ANSWER_INTS + i] = values[from + i]!;
  }

  /** Adds a record that takes the answer of an equal one. */
  double(first: number, double: number): void {
    this.#pairs ??= {
      byDouble: new LaneWriter(this.#file, this.#lanes),
      byFirst: new LaneWriter(this.#file, this.#lanes),
    };
    this.#pair(this.#pairs.byDouble, double, first, double);
    this.#pair(this.#pairs.byFirst, first, first, double);
  }

  /** Writes the rest. @param sent the records to send. */
  end(run: string, sent: NumberSet): FileIdentity {
    const laneNumbers = 2 ** this.#laneBits;
    const toSend = noExtents(this.#lanes);
    for (const [lane, extents] of toSend.entries()) {
      const bits = sent.bits(lane * laneNumbers, laneNumbers);
      if (bits.some((word) => word !== 0)) appendExtent(this.#file, extents, bits);
    }
    const { byDouble, byFirst } = this.#pairs ?? {};
    for (const writer of [this.#reused, this.#outdated, byDouble, byFirst]) writer?.end();
    const directory: ChoiceDirectory = {
      run,
      laneBits: this.#laneBits,
      origins: this.#origins,
      layouts: this.#layouts,
      sent: toSend,
      reused: this.#reused.lanes,
      outdated: this.#outdated.lanes,
      byDouble: byDouble?.lanes ?? [],
      byFirst: byFirst?.lanes ?? [],
    };
    return writeDirectory(this.#file, CHOICE_FORMAT, directory);
  }

  /** Frees the buffers. After this call it must not be used. */
  release(): void {
    for (const lanes of [this.#reused, this.#outdated, this.#pairs?.byDouble, this.#pairs?.byFirst]) {
      lanes?.release();
    }
  }

  #pair(lanes: LaneWriter, laneOf: number, first: number, double: number): void {
    const at = lanes.begin(laneOf >>> this.#laneBits, PAIR_INTS);
    lanes.ints[at] = first;
    lanes.ints[at + 1] = double;
  }
}
