/** Copies places into a larger array, moved; in WebAssembly, which moves four at once. */
import { bytesOf, INT_BYTES, SPARE_BYTES, sharedMemory } from '../../kernel/kernel-memory.js';

/** What assembly/move.ts exports. */
interface MoveExports {
  readonly memory: WebAssembly.Memory;
  movePlaces(at: number, count: number, shift: number): void;
}

/** Places moved by one call: they stay in the processor's cache. */
const WINDOW_PLACES = 4096;

const kernelMemory = sharedMemory<MoveExports>(WINDOW_PLACES * INT_BYTES + SPARE_BYTES);

/** Writes places into a larger array, each moved by as many bytes as what it points into. */
export function addShifted(into: Int32Array, at: number, places: Int32Array, shift: number): void {
  const { bytes, exports } = kernelMemory();
  const target = bytesOf(into);
  for (let from = 0; from < places.length; from += WINDOW_PLACES) {
    const window = places.subarray(from, from + WINDOW_PLACES);
    bytes.set(bytesOf(window));
    exports.movePlaces(0, window.length, shift);
    target.set(bytes.subarray(0, window.byteLength), (at + from) * INT_BYTES);
  }
}
