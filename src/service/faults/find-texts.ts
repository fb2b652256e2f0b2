/** Looks for texts in a file of any size, in flat memory. */
import { createReadStream } from 'node:fs';

/** @returns those of the texts whose UTF-8 bytes stand in the file. */
export async function findTexts(path: string, texts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }));
  /** As much of what was read as a text may have begun in. */
  const overlap = Math.max(0, ...sought.map(({ bytes }) => bytes.length - 1));
  let tail = Buffer.alloc(0);
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    const window = Buffer.concat([tail, piece]);
    for (const { text, bytes } of sought) if (window.includes(bytes)) found.add(text);
    if (found.size === sought.length) break;
    tail = window.subarray(Math.max(0, window.length - overlap));
  }
  return found;
}
