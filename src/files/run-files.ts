/** The port to a run's files: chunk files to upload, and the decoded parts that were bought. */
import type { Bytes, FileStatus, PartReference, StoredPart } from '../types.js';

/** Bytes in pieces. A piece is valid until the consumer asks for the next one. */
export type ByteStream = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** The size and the hash of a written part. */
export type WrittenPart = Pick<StoredPart, 'bytes' | 'sha256'>;

/** Bytes to upload, wherever they are stored: on a disk, in a database or in an object store. */
export interface UploadContent {
  readonly bytes: Bytes;
  /**
   * Gives the content from its first byte, exactly `bytes` of it, each time it is called. A piece keeps its bytes after
   * it is given, because nothing says when the network has sent it.
   */
  open(): AsyncIterable<Uint8Array>;
}

export interface RunFiles {
  /**
   * Writes an uploadable file and replaces an old one of the same number. It need not survive a crash: it can be cut
   * again from the source, and `hasChunk` tells whether it is whole.
   */
  writeChunk(number: number, content: ByteStream, sha256: string): Promise<void>;
  /**
   * The content of the chunk's file, to be uploaded.
   * @throws when there is no such file.
   */
  chunkContent(number: number): Promise<UploadContent>;
  /** Whether the chunk's file has exactly this content. A file that was written through this port is not read for it. */
  hasChunk(number: number, sha256: string): Promise<boolean>;
  removeChunk(number: number): Promise<void>;
  /**
   * Streams a decoded part to the store, compressed. It appears whole or not at all, beside stored files of the part
   * with another content.
   */
  writePart(chunk: number, part: PartReference, content: ByteStream): Promise<WrittenPart>;
  /**
   * The decoded bytes of a stored part, checked against its hash. Each piece belongs to the reader.
   * @throws DamagedPartError, while it is read, when it is missing or not what was written.
   */
  readPart(chunk: number, part: StoredPart): AsyncIterable<Uint8Array>;
  /** Removes the stored file of a part with this content. */
  removePart(chunk: number, part: StoredPart): Promise<void>;
}

/** All pieces as one buffer. A single piece, the usual case, is not copied. */
export async function readWhole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  const [only] = pieces;
  if (only === undefined || pieces.length > 1) return Buffer.concat(pieces);
  return Buffer.isBuffer(only) ? only : Buffer.from(only.buffer, only.byteOffset, only.byteLength);
}

/** The files of all runs. */
export interface FileStore {
  /** The files of one run; creates the place for them where it is missing. */
  ofRun(run: string): Promise<RunFiles>;
  /** Bytes of all files of a run; undefined if it has none. */
  sizeOf(run: string): Promise<number | undefined>;
  /** Removes all files of a run; a run without files is fine. */
  remove(run: string): Promise<void>;
  /** Every run that has a place for files, also if the checkpoint does not know it. */
  runs(): Promise<readonly StoredRun[]>;
}

/** @see FileStore.runs */
export interface StoredRun {
  readonly run: string;
  /** Where a person finds its files. */
  readonly location: string;
}

/** A stored part is no longer as it was written; it can be fetched again. */
export class DamagedPartError extends Error {
  readonly chunk: number;
  readonly fileStatus: FileStatus;
  readonly part: number;

  constructor(chunk: number, part: PartReference, cause: unknown) {
    super(`the stored ${part.fileStatus} part ${part.part} of chunk ${chunk} is missing or damaged`, {
      cause,
    });
    this.name = 'DamagedPartError';
    this.chunk = chunk;
    this.fileStatus = part.fileStatus;
    this.part = part.part;
  }
}
