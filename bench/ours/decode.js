/**
 * Our side of decoding: a reply in a file, read in pieces and decoded into another file.
 * node bench/ours/decode.js REPLY OUTPUT
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { decodeBase64Json } from '../../dist/src/streams/base64-json.js';

const [reply, output] = process.argv.slice(2);
const began = performance.now();
await pipeline(
  createReadStream(reply),
  (body) => decodeBase64Json(body, { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 }),
  createWriteStream(output),
);
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
