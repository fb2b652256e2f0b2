/**
 * Files of the store: content, then a directory as JSON, then a footer that says where the directory is. The directory
 * holds a checksum for each piece of the content, so its hash identifies the whole file.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { readAt } from '../streams/read-at.js';
import { isFileMissing } from '../streams/system-error.js';
import type { AppendFile } from './append-file.js';

/** What the checkpoint keeps of a file. */
export interface FileIdentity {
  readonly bytes: number;
  /** Of the directory, hex. */
  readonly sha256: string;
}

/** Name of the format, 8 characters; then the size of the directory and its checksum, 4 bytes each. */
const FOOTER_BYTES = 16;

/** Ends a file with its directory. @param format 8 characters. */
export function writeDirectory(file: AppendFile, format: string, directory: unknown): FileIdentity {
  const text = Buffer.from(JSON.stringify(directory));
  const footer = Buffer.alloc(FOOTER_BYTES);
  footer.write(format, 'latin1');
  footer.writeUInt32LE(text.length, 8);
  footer.writeUInt32LE(crc32(text), 12);
  file.append(text);
  file.append(footer);
  file.flush();
  return { bytes: file.length, sha256: createHash('sha256').update(text).digest('hex') };
}

/** An open file whose directory is the one that was written. */
export interface CheckedFile<Directory> {
  readonly fd: number;
  readonly directory: Directory;
  readonly identity: FileIdentity;
  close(): void;
}

/** The error about a file; `cause` is what the system said. */
interface FileErrors {
  lost(cause: unknown): Error;
  damaged(): Error;
}

/**
 * Opens a file and checks its size and its directory.
 * @param identity undefined if it is not known: then only the checksum of the directory is checked.
 * @throws what `errors` returns.
 */
export function openChecked<Directory>(
  path: string,
  format: string,
  identity: FileIdentity | undefined,
  errors: FileErrors,
): CheckedFile<Directory> {
  const fd = openOrThrow(path, errors);
  try {
    const { size } = fstatSync(fd);
    const footer = Buffer.alloc(FOOTER_BYTES);
    if (
      (identity !== undefined && size !== identity.bytes) ||
      readAt(fd, footer, Math.max(0, size - FOOTER_BYTES)) < FOOTER_BYTES
    ) {
      throw errors.damaged();
    }
    const length = footer.readUInt32LE(8);
    const isOurs = footer.toString('latin1', 0, 8) === format && length <= size - FOOTER_BYTES;
    if (!isOurs) throw errors.damaged();
    const text = Buffer.alloc(length);
    readAt(fd, text, size - FOOTER_BYTES - length);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const isWritten = crc32(text) === footer.readUInt32LE(12);
    if (!isWritten || (identity !== undefined && sha256 !== identity.sha256)) throw errors.damaged();
    const directory = JSON.parse(text.toString()) as Directory;
    return { fd, directory, identity: { bytes: size, sha256 }, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openOrThrow(path: string, { lost }: FileErrors): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isFileMissing(error)) throw lost(error);
    throw error;
  }
}
