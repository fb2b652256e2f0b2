/** The port to a run's files: chunks on their way to the service, and the decoded parts that were bought. */
import type { FileStatus, PartReference, StoredPart } from '../types.js';

/** What was written of a part. */
export type WrittenPart = Pick<StoredPart, 'bytes' | 'sha256'>;

export interface RunFiles {
  /**
   * Writes an uploadable file; an old one of the same number is replaced. It need not outlive a crash: it can be
   * cut again from the source, and `hasChunk` tells whether it is whole.
   */
  writeChunk(number: number, bytes: Uint8Array, sha256: string): Promise<void>;
  /** Local path to upload from. */
  chunkPath(number: number): string;
  /** Whether the chunk's file is there with exactly this content; what was written through this port is not read for it. */
  hasChunk(number: number, sha256: string): Promise<boolean>;
  removeChunk(number: number): Promise<void>;
  /**
   * Streams a decoded part to the store, compressed; it is there whole or not at all, beside what is stored of the
   * part with another content. A piece is not looked at once the next one is asked for.
   */
  writePart(chunk: number, part: PartReference, content: AsyncIterable<Uint8Array>): Promise<WrittenPart>;
  /**
   * The decoded bytes of a stored part; whoever reads them no more may give them back to the buffer pool.
   * @throws DamagedPartError when it is missing or not what was written.
   */
  readPart(chunk: number, part: StoredPart): Promise<Buffer>;
  /** Removes what is stored of a part with this content. */
  removePart(chunk: number, part: StoredPart): Promise<void>;
}

/** A part that was bought is no longer on the disk as it was written; it can be fetched again. */
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
