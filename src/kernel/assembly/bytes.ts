// The bytes that have a meaning in CSV.

export const LF: i32 = 0x0a;
export const CR: i32 = 0x0d;
export const QUOTE: i32 = 0x22;
export const COMMA: i32 = 0x2c;
/** The digit 0; the other digits follow it. */
export const ZERO: i32 = 0x30;
