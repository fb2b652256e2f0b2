/** Growing arrays for a table, and copying offsets into them. */
import { bytesOf, INT_BYTES, SPARE_BYTES, sharedMemory } from '../../kernel/kernel-memory.js';

/**
 * Returns the array if it has room for `size` elements, otherwise a larger copy. The size at least doubles, so that
 * appending takes linear time.
 */
export function ensureCapacity<T extends Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(
  array: T,
  size: number,
): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}

/** What assembly/copy.ts exports. */
interface CopyExports {
  readonly memory: WebAssembly.Memory;
  shiftOffsets(address: number, count: number, shift: number): void;
}

/** Offsets of one call: few enough to stay in the processor's cache. */
const WINDOW_OFFSETS = 4096;

const kernelMemory = sharedMemory<CopyExports>(WINDOW_OFFSETS * INT_BYTES + SPARE_BYTES);

/**
 * Copies offsets to `into[at...]` and adds `shift` to each: the distance by which their bytes have moved. Uses
 * WebAssembly, which adds to four offsets at once.
 */
export function copyShifted(into: Int32Array, at: number, offsets: Int32Array, shift: number): void {
  const { bytes, exports } = kernelMemory();
  const target = bytesOf(into);
  for (let from = 0; from < offsets.length; from += WINDOW_OFFSETS) {
    const window = offsets.subarray(from, from + WINDOW_OFFSETS);
    bytes.set(bytesOf(window));
    exports.shiftOffsets(0, window.length, shift);
    target.set(bytes.subarray(0, window.byteLength), (at + from) * INT_BYTES);
  }
}
