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

/** Writes places into a larger array, each moved by as many bytes as what it points into. */
export function addShifted(into: Int32Array, at: number, places: Int32Array, shift: number): void {
  for (let i = 0; i < places.length; i++) into[at + i] = places[i]! + shift;
}
