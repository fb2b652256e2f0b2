/**
 * Sorts entries roughly while they are written: each goes to a lane, and a lane is read as a whole later. A lane is a
 * list of extents of one file, so that memory holds one buffer for each lane, however many entries there are.
 */
import { crc32 } from 'node:zlib';
import { ConfigError } from '../errors.js';
import { bytesOf, INT_BYTES } from '../kernel/kernel-memory.js';
import { freeMemory } from '../streams/large-buffers.js';
import { type AppendFile, type IntBuffers, readChecked } from './append-file.js';

/** Where the extents of a lane are: offset, numbers of 32 bits, and checksum of each. */
export interface Lane {
  readonly offsets: number[];
  readonly sizes: number[];
  readonly sums: number[];
}

/** How records are spread over lanes. */
export interface LaneShape {
  readonly lanes: number;
  /** A lane has 2 ** laneBits record numbers. */
  readonly laneBits: number;
  /** Numbers of the buffer of a lane. */
  readonly laneInts: number;
}

/** The buffers of lanes, which others may fill too. */
export interface LaneRoom {
  /** The buffers, one after the other. */
  readonly buffers: Int32Array<ArrayBuffer>;
  /** How many numbers each holds. */
  readonly filled: Int32Array;
}

/** The most numbers of all lanes' buffers together: 8 MiB. */
const MAX_INTS = 2 * 1024 * 1024;
/** The most and the fewest numbers of the buffer of a lane. */
const MAX_LANE_INTS = 4 * 1024;
const MIN_LANE_INTS = 512;

/** How many numbers the buffer of each lane holds, for this number of lanes. */
export function laneIntsFor(lanes: number): number {
  return Math.max(MIN_LANE_INTS, Math.min(MAX_LANE_INTS, Math.floor(MAX_INTS / lanes)));
}

export class LaneWriter {
  /** The lanes so far; complete after `end`, and a lane after `flush`. */
  readonly lanes: readonly Lane[];
  /** The caller writes into it, at the index that `begin` returns. */
  ints: Int32Array<ArrayBuffer>;
  readonly #file: AppendFile;
  readonly #laneInts: number;
  readonly #isOwn: boolean;
  readonly #buffers: Int32Array<ArrayBuffer>;
  readonly #filled: Int32Array;
  #largeLane = -1;

  /** @param room belongs to the caller, which frees it. */
  constructor(file: AppendFile, lanes: number, room?: LaneRoom) {
    this.#file = file;
    this.#laneInts = laneIntsFor(lanes);
    this.#isOwn = room === undefined;
    this.#buffers = room?.buffers ?? new Int32Array(lanes * this.#laneInts);
    this.#filled = room?.filled ?? new Int32Array(lanes);
    this.ints = this.#buffers;
    this.lanes = noExtents(lanes);
  }

  /** Begins an entry. The caller writes `size` numbers to `ints` from the returned index on, before the next call. */
  begin(lane: number, size: number): number {
    if (this.#largeLane >= 0) this.#endLarge();
    let filled = this.#filled[lane]!;
    if (filled + size > this.#laneInts) {
      this.flush(lane);
      filled = 0;
      if (size > this.#laneInts) {
        this.#largeLane = lane;
        this.ints = new Int32Array(size);
        return 0;
      }
    }
    this.#filled[lane] = filled + size;
    return lane * this.#laneInts + filled;
  }

  /** Writes bytes at an index in `ints`, filled up with zeros to whole numbers. */
  writeBytes(at: number, bytes: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (size === 0) return;
    this.ints[at + ((size - 1) >>> 2)] = 0;
    const target = new Uint8Array(this.ints.buffer, this.ints.byteOffset + at * INT_BYTES, size);
    for (let i = 0; i < size; i++) target[i] = bytes[from + i]!;
  }

  /** Writes what is in the buffers. */
  end(): void {
    for (let lane = 0; lane < this.lanes.length; lane++) this.flush(lane);
  }

  /** Frees the buffers. After this call it must not be used. */
  release(): void {
    if (this.#isOwn) freeMemory(this.#buffers);
  }

  /** Writes what is in the buffer of a lane, so that the lane can be read. */
  flush(lane: number): void {
    if (this.#largeLane >= 0) this.#endLarge();
    const size = this.#filled[lane]!;
    if (size === 0) return;
    const from = lane * this.#laneInts;
    this.#write(lane, this.#buffers.subarray(from, from + size));
    this.#filled[lane] = 0;
  }

  #endLarge(): void {
    this.#write(this.#largeLane, this.ints);
    this.ints = this.#buffers;
    this.#largeLane = -1;
  }

  #write(lane: number, ints: Int32Array): void {
    appendExtent(this.#file, this.lanes[lane]!, ints);
  }
}

/** Lanes without an extent. */
export function noExtents(lanes: number): readonly Lane[] {
  return Array.from({ length: lanes }, () => ({ offsets: [], sizes: [], sums: [] }));
}

/** Writes whole entries as an extent of a lane. */
export function appendExtent(file: AppendFile, { offsets, sizes, sums }: Lane, ints: Int32Array): void {
  const bytes = bytesOf(ints);
  offsets.push(file.append(bytes));
  sizes.push(ints.length);
  sums.push(crc32(bytes));
}

/** How many numbers a lane holds. */
export function laneSize({ sizes }: Lane): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Reads a lane.
 * @returns its numbers, valid until the next use of `scratch`.
 * @throws what `damaged` returns when the bytes are not those that were written.
 */
export function readLane(
  fd: number,
  lane: Lane,
  scratch: IntBuffers,
  damaged: () => Error,
): Int32Array<ArrayBuffer> {
  const size = laneSize(lane);
  const ints = scratch.ints(size).subarray(0, size);
  let at = 0;
  for (let extent = 0; extent < lane.sizes.length; extent++) {
    readExtent(fd, lane, extent, ints.subarray(at, at + lane.sizes[extent]!), damaged);
    at += lane.sizes[extent]!;
  }
  return ints;
}

/**
 * Reads one extent of a lane; it holds whole entries.
 * @throws what `damaged` returns when the bytes are not those that were written.
 */
export function readExtent(
  fd: number,
  lane: Lane,
  extent: number,
  into: Int32Array,
  damaged: () => Error,
): void {
  readChecked(fd, bytesOf(into), lane.offsets[extent]!, lane.sums[extent]!, damaged);
}

/** The error for a lane of a temporary file. */
export function temporaryDamaged(): ConfigError {
  return new ConfigError(
    'REUSE_TEMPORARY_DAMAGED',
    'a temporary file of the stored answers does not hold what was written',
    { hint: 'check the disk, then run the same command again: nothing is paid again' },
  );
}
