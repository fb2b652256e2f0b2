/**
 * Large buffers, which are freed at once after their last use. The garbage collector would free one late, because it
 * collects it only with old objects. It frees what is not given back.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Smaller buffers are left to the garbage collector. Those of a stretch, a few thousand numbers, are not. */
const MIN_BYTES = 16 * 1024;
/** The memory of the taken buffers. */
const taken = new WeakSet<ArrayBufferLike>();

/** A port that is closed: the memory of what is sent to it is freed at once. */
const freeing = closedPort();

/** Takes a buffer of this length; its content is undefined. */
export function takeBuffer(length: number): Buffer {
  if (length < MIN_BYTES) return Buffer.allocUnsafe(length);
  const buffer = Buffer.allocUnsafeSlow(length);
  adoptBuffer(buffer);
  return buffer;
}

/**
 * Makes a buffer one that may be given back, as if it had been taken.
 * @param buffer must not share its memory with another one.
 */
export function adoptBuffer(buffer: Buffer): void {
  if (buffer.length >= MIN_BYTES) taken.add(buffer.buffer);
}

/** Takes an array of 32-bit integers; its content is undefined. */
export function takeNumbers(length: number): Int32Array<ArrayBuffer> {
  const { buffer, byteOffset } = takeBuffer(length * Int32Array.BYTES_PER_ELEMENT);
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length);
}

/**
 * Frees a taken buffer.
 * @param buffer neither it nor any other view of its memory may be used after this call. A buffer that was not taken is
 *   ignored.
 */
export function giveBack(buffer: Uint8Array | Int32Array): void {
  if (taken.delete(buffer.buffer)) freeMemory(buffer);
}

/**
 * Frees an array that was not taken. A small one is left to the garbage collector, and so is one in the memory that Node
 * shares among small buffers.
 * @param array neither it nor any other view of its memory may be used after this call.
 */
export function freeMemory({ buffer }: Uint8Array | Int32Array): void {
  if (buffer.byteLength < MIN_BYTES) return;
  try {
    freeing.postMessage(null, [buffer as ArrayBuffer]);
  } catch (error) {
    // Node sends its shared memory to no port: 64 KiB since Node 26, and less than `MIN_BYTES` before.
    if (!(error instanceof Error) || error.name !== 'DataCloneError') throw error;
  }
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
