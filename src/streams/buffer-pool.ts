/**
 * A pool of large buffers. A taken buffer may be given back after its last use. Otherwise the garbage collector frees
 * it.
 */

/** Most buffers in the pool: as many as are used at the same time. */
const MAX_SPARE = 8;
/** Smaller buffers are not pooled. */
const MIN_BYTES = 64 * 1024;
/** Lengths are rounded up to a multiple, so that a buffer of one chunk also fits the next chunk, but no small one. */
const STEP_BYTES = 256 * 1024;
const spare: Buffer[] = [];
/** The memory of the taken buffers. */
const taken = new WeakSet<ArrayBufferLike>();

/** Takes a buffer of this length; its content is undefined. */
export function takeBuffer(length: number): Buffer {
  if (length < MIN_BYTES) return Buffer.allocUnsafe(length);
  const size = Math.ceil(length / STEP_BYTES) * STEP_BYTES;
  const fitting = spare.findIndex((buffer) => buffer.length >= length && buffer.length <= size + STEP_BYTES);
  const buffer = fitting === -1 ? Buffer.allocUnsafeSlow(size) : spare.splice(fitting, 1)[0]!;
  taken.add(buffer.buffer);
  return buffer.subarray(0, length);
}

/** Takes an array of 32-bit integers; its content is undefined. */
export function takeNumbers(length: number): Int32Array<ArrayBuffer> {
  const { buffer, byteOffset } = takeBuffer(length * Int32Array.BYTES_PER_ELEMENT);
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length);
}

/**
 * Frees an array that is not of the pool. Left to the garbage collector, a large one stays for long, because it is
 * collected with old objects only.
 * @param array must not be used after this call.
 */
export function freeNumbers({ buffer }: Int32Array<ArrayBuffer>): void {
  // The memory moves to an object that is garbage at once, and is collected with young objects.
  structuredClone(buffer, { transfer: [buffer] });
}

/**
 * Gives a buffer back to the pool.
 * @param buffer must not be used after this call. A buffer that is not from the pool is ignored.
 */
export function giveBack(buffer: Uint8Array | Int32Array): void {
  if (!taken.delete(buffer.buffer)) return;
  if (spare.length === MAX_SPARE) spare.shift();
  spare.push(Buffer.from(buffer.buffer));
}
