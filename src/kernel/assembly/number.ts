// Whole numbers as decimal digits.

const ZERO: i32 = 0x30;

/** Most digits that a number has. */
export const DIGITS: i32 = 20;

/** Writes a number of 0 or more to `out`, and returns where that ends. */
export function writeNumber(value: u64, out: i32): i32 {
  let digits = 1;
  for (let power: u64 = 10; power <= value && digits < DIGITS - 1; power *= 10) digits++;
  for (let at = out + digits - 1; at >= out; at--) {
    store<u8>(at, <u8>(ZERO + <i32>(value % 10)));
    value /= 10;
  }
  return out + digits;
}
