/**
 * Files of a state that any machine can continue: what runs have bought and decided, except their parts. A file has the
 * name that it has in the folder of a state on a local disk, appears whole or not at all, and is never changed: a new one
 * takes its name.
 */
import type { HashedFile } from '../streams/file-identity.js';
import type { Milliseconds } from '../types.js';
import type { ByteStream } from './run-files.js';

/** The files of one state. */
export interface SharedFiles {
  /** Where they are, without secrets, for messages. */
  readonly place: string;
  find(name: string): Promise<SharedFile | undefined>;
  /** The files whose names begin with this text, ordered by name. */
  list(beginning: string): Promise<readonly SharedFile[]>;
  /**
   * Keeps a copy of a local file, in place of the file that had the name. Durable when the promise has resolved.
   * @returns what was stored.
   * @throws LockedError `LEASE_LOST`: then nothing is changed.
   */
  put(name: string, path: string): Promise<HashedFile>;
  /** The same, unless there is a file with the name. */
  putFirst(name: string, path: string): Promise<void>;
  /** The content of a file, in pieces. It may be damaged: the reader compares its hash. */
  read(file: SharedFile): ByteStream;
  /** Missing names are no error. @throws LockedError `LEASE_LOST`. */
  remove(names: readonly string[]): Promise<void>;
  /** Removes contents without a name that were written longer ago than this. */
  removeUnnamed(age: Milliseconds): Promise<void>;
}

export interface SharedFile {
  readonly name: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** How long ago it got its name, by the clock of the store. */
  readonly age: Milliseconds;
  /** The id of its content. */
  readonly file: string;
  /** The folder with the content, which all machines see; null if the content is kept with the names. */
  readonly folder: string | null;
}

/** Where the contents of files are kept, by their ids. */
export interface SharedContents {
  /** The folder, which all machines see; null if contents are kept with the names. */
  readonly folder: string | null;
  /**
   * Writes a content that is durable when the promise has resolved.
   * @param fill calls its parameter for each piece, which may be overwritten after that call.
   * @returns the number of pieces in which it is kept with the names; 0 if it is in a folder.
   */
  write(file: string, fill: (append: (piece: Uint8Array) => Promise<void>) => Promise<void>): Promise<number>;
  read(file: string): ByteStream;
  remove(files: readonly string[]): Promise<void>;
  /** The ids of contents that were written longer ago than this. */
  olderThan(age: Milliseconds): Promise<readonly string[]>;
}
