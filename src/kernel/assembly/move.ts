// Moves places: whole numbers of 32 bits, each by as many bytes as what it points into.

/** Adds `shift` to each of `count` numbers at `at`. Up to 12 bytes behind them are written over. */
export function movePlaces(at: i32, count: i32, shift: i32): void {
  const shifts = i32x4.splat(shift);
  const behind = at + (count << 2);
  for (; at < behind; at += 16) v128.store(at, i32x4.add(v128.load(at), shifts));
}
