/**
 * Our decoder on a reply that is in memory, in pieces as a socket gives them. The bytes go into a file, or are
 * thrown away. The median of three times.
 * node bench/ours/decode-memory.js REPLY [OUTPUT]
 */
import { createWriteStream, readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { decodeBase64Json } from '../../dist/src/streams/base64-json.js';
import { median } from '../rows.js';

const PIECE_BYTES = 64 * 1024;
const CONTENT = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };
const [path, output] = process.argv.slice(2);
const reply = readFileSync(path);
const times = [];
for (let time = 1; time <= 3; time += 1) {
  const began = performance.now();
  const decoded = decodeBase64Json(pieces(), CONTENT);
  if (output === undefined) for await (const _ of decoded);
  else await pipeline(decoded, createWriteStream(output));
  times.push((performance.now() - began) / 1000);
}
console.log(JSON.stringify({ seconds: median(times) }));

async function* pieces() {
  for (let at = 0; at < reply.length; at += PIECE_BYTES) yield reply.subarray(at, at + PIECE_BYTES);
}
