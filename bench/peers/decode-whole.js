/**
 * Decoding as it is usually written: the whole reply read, parsed, decoded and written.
 * node bench/peers/decode-whole.js REPLY OUTPUT
 */
import { readFile, writeFile } from 'node:fs/promises';

const [reply, output] = process.argv.slice(2);
const began = performance.now();
const { content } = JSON.parse(await readFile(reply, 'utf8')).response;
await writeFile(output, Buffer.from(content, 'base64'));
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
