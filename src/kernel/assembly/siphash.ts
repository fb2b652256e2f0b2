// SipHash-2-4 with a result of 128 bits (https://github.com/veorq/SipHash).

// Literals of 64 bits in two halves: a tool that reads this as TypeScript would round them.
const FIRST: u64 = ((<u64>0x736f6d65) << 32) | 0x70736575;
const SECOND: u64 = ((<u64>0x646f7261) << 32) | 0x6e646f6d;
const THIRD: u64 = ((<u64>0x6c796765) << 32) | 0x6e657261;
const FOURTH: u64 = ((<u64>0x74656462) << 32) | 0x79746573;

/** Hashes [from, from + size) with the key of 16 bytes at `key`, to 16 bytes at `out`. Up to 7 bytes more are read. */
export function sipHash(from: i32, size: i32, key: i32, out: i32): void {
  const k0 = load<u64>(key);
  const k1 = load<u64>(key, 8);
  let v0: u64 = k0 ^ FIRST;
  let v1: u64 = k1 ^ SECOND ^ 0xee;
  let v2: u64 = k0 ^ THIRD;
  let v3: u64 = k1 ^ FOURTH;
  const words = from + (size & ~7);
  const rest = size & 7;
  const kept = ((<u64>1) << (<u64>(rest << 3))) - 1;
  // The last word is the remaining bytes, and the size in its highest byte.
  const lastWord = (load<u64>(words) & kept) | ((<u64>size) << 56);
  for (let at = from; at <= words; at += 8) {
    const word = at < words ? load<u64>(at) : lastWord;
    v3 ^= word;
    // Two rounds, written out because a loop takes longer.
    v0 += v1;
    v2 += v3;
    v1 = rotl(v1, 13) ^ v0;
    v3 = rotl(v3, 16) ^ v2;
    v0 = rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = rotl(v1, 17) ^ v2;
    v3 = rotl(v3, 21) ^ v0;
    v2 = rotl(v2, 32);
    v0 += v1;
    v2 += v3;
    v1 = rotl(v1, 13) ^ v0;
    v3 = rotl(v3, 16) ^ v2;
    v0 = rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = rotl(v1, 17) ^ v2;
    v3 = rotl(v3, 21) ^ v0;
    v2 = rotl(v2, 32);
    v0 ^= word;
  }
  v2 ^= 0xee;
  for (let half = 0; half < 2; half++) {
    for (let round = 0; round < 4; round++) {
      v0 += v1;
      v2 += v3;
      v1 = rotl(v1, 13) ^ v0;
      v3 = rotl(v3, 16) ^ v2;
      v0 = rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = rotl(v1, 17) ^ v2;
      v3 = rotl(v3, 21) ^ v0;
      v2 = rotl(v2, 32);
    }
    store<u64>(out + (half << 3), v0 ^ v1 ^ v2 ^ v3);
    v1 ^= 0xdd;
  }
}
