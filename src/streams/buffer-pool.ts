/**
 * Large buffers that are used again. Whoever has taken one may give it back once nobody reads it any more; one that
 * is not given back is the garbage collector's.
 */

/** As many as are in turn at once; more are not kept. */
const MOST_SPARE = 8;
/** Smaller ones are not worth it. */
const LEAST_BYTES = 64 * 1024;
/** Lengths are rounded up to these: one that was taken for a chunk fits the next one, but nothing much smaller. */
const STEP_BYTES = 256 * 1024;
const spare: Buffer[] = [];
/** The memory of those that were taken. */
const taken = new WeakSet<ArrayBufferLike>();

/** A buffer of this length with anything in it. */
export function takeBuffer(length: number): Buffer {
  if (length < LEAST_BYTES) return Buffer.allocUnsafe(length);
  const size = Math.ceil(length / STEP_BYTES) * STEP_BYTES;
  const fitting = spare.findIndex((buffer) => buffer.length >= length && buffer.length <= size + STEP_BYTES);
  const buffer = fitting === -1 ? Buffer.allocUnsafeSlow(size) : spare.splice(fitting, 1)[0]!;
  taken.add(buffer.buffer);
  return buffer.subarray(0, length);
}

/** The same for whole numbers of 32 bits. */
export function takeNumbers(length: number): Int32Array<ArrayBuffer> {
  const { buffer, byteOffset } = takeBuffer(length * Int32Array.BYTES_PER_ELEMENT);
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length);
}

/** @param buffer not used after this; one that was not taken here is left alone. */
export function giveBack(buffer: Uint8Array | Int32Array): void {
  if (!taken.delete(buffer.buffer)) return;
  if (spare.length === MOST_SPARE) spare.shift();
  spare.push(Buffer.from(buffer.buffer));
}
