/** The few bytes that CSV gives a meaning to. */
export const NUL = 0x00;
export const LF = 0x0a;
export const CR = 0x0d;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
