/** Compares what two sides wrote: peers count only when they did the same. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** @throws when one of the others differs from the first. Each may be several files, taken as one text. */
export async function checkSame(first, ...others) {
  const expected = await hashOf(first);
  for (const other of others) {
    if ((await hashOf(other)) === expected) continue;
    throw new Error(`not the same result: ${[first].flat()[0]} and ${[other].flat()[0]}`);
  }
}

async function hashOf(paths) {
  const hash = createHash('sha256');
  for (const path of [paths].flat()) for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
