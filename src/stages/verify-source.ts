/** The check of the source just before publishing: the same files, by stamp or else by content. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { fileStamp } from '../csv/file-stamp.js';
import type { Source } from '../types.js';
import { sourceChanged } from './read-source.js';

/** @throws SourceError when the content of a file is no longer what was checked and sent. */
export async function verifySource(source: Source): Promise<void> {
  for (const file of source.files) {
    const { stamp } = await fileStamp(file.path);
    if (stamp === file.stamp) continue;
    const hash = createHash('sha256');
    for await (const piece of createReadStream(file.path)) hash.update(piece as Buffer);
    if (hash.digest('hex') !== file.sha256) throw sourceChanged(file.path, 'its content is another');
  }
}
