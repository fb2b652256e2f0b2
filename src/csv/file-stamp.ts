/** What tells cheaply whether a file is still the same: equal stamps, same content. */
import { stat } from 'node:fs/promises';
import { SourceError } from '../errors/index.js';
import { stampText } from '../streams/stamp.js';
import { unreadable } from './unreadable.js';

export interface FileStamp {
  /** Size on disk in bytes. */
  readonly bytes: number;
  /** Size, times in nanoseconds and inode as one text. */
  readonly stamp: string;
}

/** @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`. */
export async function fileStamp(path: string): Promise<FileStamp> {
  const facts = await stat(path, { bigint: true }).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  if (!facts.isFile()) {
    const what = facts.isDirectory() ? 'a folder' : 'not a regular file';
    throw new SourceError('SOURCE_UNREADABLE', `${path}: this is ${what}`, {
      hint: 'source.path must name a file, or a pattern such as folder/*.csv; a run reads it several times',
      facts: { file: path },
    });
  }
  return { bytes: Number(facts.size), stamp: stampText(facts) };
}
