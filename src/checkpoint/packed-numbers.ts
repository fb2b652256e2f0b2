/** Packs ascending record numbers into a small blob: the differences between neighbours, deflated. */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

const BYTES_EACH = 4;

/** @param numbers ascending, without repeats; their differences are below 2^32. */
export function packNumbers(numbers: readonly number[]): Buffer {
  const distances = Buffer.allocUnsafe(numbers.length * BYTES_EACH);
  let before = 0;
  for (const [at, number] of numbers.entries()) {
    distances.writeUInt32LE(number - before, at * BYTES_EACH);
    before = number;
  }
  // The blob is a third larger than at the default level, but takes a sixth of the time.
  return deflateRawSync(distances, { level: constants.Z_BEST_SPEED });
}

/** The numbers that `packNumbers` was given. */
export function unpackNumbers(packed: Buffer): number[] {
  const distances = inflateRawSync(packed);
  const numbers: number[] = [];
  let number = 0;
  for (let at = 0; at < distances.length; at += BYTES_EACH) {
    number += distances.readUInt32LE(at);
    numbers.push(number);
  }
  return numbers;
}
