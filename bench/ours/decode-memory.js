/**
 * Our decoder on a reply that is in memory, in pieces as a socket gives them. The bytes go into a file, or are
 * thrown away. The median of three times.
 * node bench/ours/decode-memory.js REPLY [OUTPUT]
 */
import { readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { decodeBase64Json } from '../../dist/src/streams/base64-json.js';
import { median } from '../rows.js';

const PIECE_BYTES = 64 * 1024;
const CONTENT = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };
const [path, output] = process.argv.slice(2);
const reply = readFileSync(path);
const times = [];
for (let time = 1; time <= 3; time += 1) {
  // Emptying the file of the time before would take as long as decoding does.
  if (output !== undefined) rmSync(output, { force: true });
  const began = performance.now();
  const decoded = decodeBase64Json(pieces(), CONTENT);
  if (output === undefined) for await (const _ of decoded);
  else await write(decoded);
  times.push((performance.now() - began) / 1000);
}
console.log(JSON.stringify({ seconds: median(times) }));

async function write(decoded) {
  const file = await open(output, 'w');
  for await (const piece of decoded) await file.write(piece);
  await file.close();
}

async function* pieces() {
  for (let at = 0; at < reply.length; at += PIECE_BYTES) yield reply.subarray(at, at + PIECE_BYTES);
}
