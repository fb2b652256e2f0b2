/**
 * A pool of large buffers. A buffer that was taken may be given back when nothing reads it any more; one that is not
 * given back is freed by the garbage collector.
 */

/** The pool keeps no more: as many as are in use at once. */
const MAX_SPARE = 8;
/** Smaller buffers are not pooled. */
const MIN_BYTES = 64 * 1024;
/** Lengths are rounded up to a multiple: a buffer of one chunk also fits the next one, but nothing much smaller. */
const STEP_BYTES = 256 * 1024;
const spare: Buffer[] = [];
/** The memory of the buffers that are taken. */
const taken = new WeakSet<ArrayBufferLike>();

/** A buffer of this length; its content is undefined. */
export function takeBuffer(length: number): Buffer {
  if (length < MIN_BYTES) return Buffer.allocUnsafe(length);
  const size = Math.ceil(length / STEP_BYTES) * STEP_BYTES;
  const fitting = spare.findIndex((buffer) => buffer.length >= length && buffer.length <= size + STEP_BYTES);
  const buffer = fitting === -1 ? Buffer.allocUnsafeSlow(size) : spare.splice(fitting, 1)[0]!;
  taken.add(buffer.buffer);
  return buffer.subarray(0, length);
}

/** The same for 32-bit integers. */
export function takeNumbers(length: number): Int32Array<ArrayBuffer> {
  const { buffer, byteOffset } = takeBuffer(length * Int32Array.BYTES_PER_ELEMENT);
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length);
}

/** @param buffer is not used after this call; one that is not from the pool is ignored. */
export function giveBack(buffer: Uint8Array | Int32Array): void {
  if (!taken.delete(buffer.buffer)) return;
  if (spare.length === MAX_SPARE) spare.shift();
  spare.push(Buffer.from(buffer.buffer));
}
