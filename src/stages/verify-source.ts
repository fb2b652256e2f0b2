/** The check of the source just before publishing: the same files, by stamp or else by content. */
import { fileStamp } from '../csv/file-stamp.js';
import { hashFile } from '../streams/hash-file.js';
import type { Source } from '../types.js';
import { sourceChanged } from './read-source.js';

/** @throws SourceError when the content of a file is no longer what was checked and sent. */
export async function verifySource(source: Source): Promise<void> {
  for (const file of source.files) {
    const { stamp } = await fileStamp(file.path);
    if (stamp === file.stamp) continue;
    if ((await hashFile(file.path))?.sha256 !== file.sha256)
      throw sourceChanged(file.path, 'its content is another');
  }
}
