/** Joins by the record number that we sent and the service gave back. */
import { type Joined, Misfits } from './joined.js';
import { fieldStart, type PartTable } from './part-table.js';

/**
 * @param numbers the chunk's record numbers, ascending.
 * @throws UntrustedError naming missing, doubled and strange results.
 */
export function joinByKey(parts: readonly PartTable[], column: string, numbers: Int32Array): Joined {
  const part = new Int32Array(numbers.length).fill(-1);
  const result = new Int32Array(numbers.length);
  const misfits = new Misfits();
  for (const [at, table] of parts.entries()) {
    const field = table.columns.indexOf(column);
    for (let r = 0; r < table.count; r++) {
      const start = fieldStart(table, r, field);
      const end = table.ends[r * table.columns.length + field]!;
      const number = readNumber(table.bytes, start, end);
      const index = number === undefined ? -1 : indexOf(numbers, number);
      if (index < 0) {
        misfits.add('strange', `${column} ${JSON.stringify(text(table.bytes, start, end))}`);
      } else if (part[index] !== -1) {
        misfits.add('doubled', `record ${number}`);
      } else {
        part[index] = at;
        result[index] = r;
      }
    }
  }
  for (let i = 0; i < numbers.length; i++) {
    if (part[i] === -1) misfits.add('missing', `record ${numbers[i]}`);
  }
  misfits.check();
  return { parts, part, result, indistinct: new Set() };
}

/** Place of a number among ascending ones: at its distance from the first unless rejected records lie between. */
function indexOf(numbers: Int32Array, number: number): number {
  const guess = number - (numbers[0] ?? 0);
  if (numbers[guess] === number) return guess;
  let low = 0;
  let high = Math.min(guess, numbers.length) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = numbers[middle]!;
    if (found === number) return middle;
    if (found < number) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The number as we wrote it, quoted or not; anything else (signs, blanks, leading zeros) is not ours. */
function readNumber(bytes: Uint8Array, start: number, end: number): number | undefined {
  const quoted = end - start > 2 && bytes[start] === quote;
  const from = quoted ? start + 1 : start;
  const to = quoted ? end - 1 : end;
  if (to <= from || to - from > 15 || bytes[from] === zero) return undefined;
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = bytes[i]! - zero;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}

const quote = 0x22;
const zero = 0x30;

function text(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, Math.min(end, start + 40))).toString();
}
