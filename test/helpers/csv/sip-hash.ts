/** SipHash-2-4-128 as its paper writes it, in plain numbers, to check the kernel. */

const MASK = (1n << 64n) - 1n;
const rotated = (value: bigint, by: bigint) => ((value << by) | (value >> (64n - by))) & MASK;

export function sipHash128(key: Uint8Array, bytes: Uint8Array): Buffer {
  const padded = Buffer.alloc(bytes.length - (bytes.length % 8) + 8);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length & 0xff;
  const keys = Buffer.from(key);
  const [k0, k1] = [keys.readBigUInt64LE(0), keys.readBigUInt64LE(8)];
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn ^ 0xeen;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const rounds = (count: number) => {
    for (let round = 0; round < count; round++) {
      v0 = (v0 + v1) & MASK;
      v1 = rotated(v1, 13n) ^ v0;
      v0 = rotated(v0, 32n);
      v2 = (v2 + v3) & MASK;
      v3 = rotated(v3, 16n) ^ v2;
      v0 = (v0 + v3) & MASK;
      v3 = rotated(v3, 21n) ^ v0;
      v2 = (v2 + v1) & MASK;
      v1 = rotated(v1, 17n) ^ v2;
      v2 = rotated(v2, 32n);
    }
  };
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at);
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  v2 ^= 0xeen;
  rounds(4);
  const hash = Buffer.alloc(16);
  hash.writeBigUInt64LE(v0 ^ v1 ^ v2 ^ v3, 0);
  v1 ^= 0xddn;
  rounds(4);
  hash.writeBigUInt64LE(v0 ^ v1 ^ v2 ^ v3, 8);
  return hash;
}
