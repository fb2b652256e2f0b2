/**
 * Our side of decoding: a reply in a file, read in pieces as a socket gives them, and decoded into another file, or
 * thrown away.
 * node bench/ours/decode.js REPLY [OUTPUT]
 */
import { openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { decodeBase64Json } from '../../dist/src/streams/base64-json.js';

const PIECE_BYTES = 64 * 1024;

const [reply, output] = process.argv.slice(2);
const began = performance.now();
const file = output === undefined ? undefined : await open(output, 'w');
const content = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };
for await (const piece of decodeBase64Json(pieces(openSync(reply)), content)) await file?.write(piece);
await file?.close();
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));

async function* pieces(descriptor) {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (let size = 1; size > 0; ) {
    size = readSync(descriptor, piece);
    yield piece.subarray(0, size);
  }
}
