/**
 * Our side of decoding: a reply in a file, read in pieces and decoded into another file, or thrown away.
 * node bench/ours/decode.js REPLY [OUTPUT]
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { decodeBase64Json } from '../../dist/src/streams/base64-json.js';

const [reply, output] = process.argv.slice(2);
const began = performance.now();
const file = output === undefined ? undefined : await open(output, 'w');
const content = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };
for await (const piece of decodeBase64Json(createReadStream(reply), content)) await file?.write(piece);
await file?.close();
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
