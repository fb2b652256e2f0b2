/** Typed arrays that grow with what is put into them. */

/** The same array, or a larger copy where it is too small. */
export function grown<T extends Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(
  array: T,
  size: number,
): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}
