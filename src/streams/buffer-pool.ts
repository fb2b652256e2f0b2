/**
 * Large buffers that are used again. Whoever has taken one may give it back once nobody reads it any more; one that
 * is not given back is the garbage collector's.
 */

/** As many as are in turn at once; more are not kept. */
const MOST_SPARE = 3;
const spare: Buffer[] = [];
/** The memory of those that were taken. */
const taken = new WeakSet<ArrayBufferLike>();

/** A buffer of this length with anything in it. */
export function takeBuffer(length: number): Buffer {
  const fitting = spare.findIndex((buffer) => buffer.length >= length);
  const buffer = fitting === -1 ? Buffer.allocUnsafeSlow(length) : spare.splice(fitting, 1)[0]!;
  taken.add(buffer.buffer);
  return buffer.subarray(0, length);
}

/** @param buffer not used after this; one that was not taken here is left alone. */
export function giveBack(buffer: Buffer): void {
  if (!taken.delete(buffer.buffer)) return;
  if (spare.length === MOST_SPARE) spare.shift();
  spare.push(Buffer.from(buffer.buffer));
}
