/**
 * The port to a run's files: chunk files to upload, and the decoded parts that were bought; and a store made of two, one
 * for each kind.
 */
import type { FileStatus, PartReference, StoredPart, UploadContent } from '../types.js';

/** Bytes in pieces. A piece is valid until the consumer asks for the next one. */
export type ByteStream = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** The size and the hash of a written part. */
export type WrittenPart = Pick<StoredPart, 'bytes' | 'sha256'>;

/** The files of one run: its chunks and parts. */
export interface RunFiles {
  /**
   * Writes the file of a chunk, replacing an old file of the same number. The file need not survive a crash: it can be
   * cut from the source again, and `hasChunk` says whether it is complete.
   */
  writeChunk(number: number, content: ByteStream, sha256: string): Promise<void>;
  /**
   * The content of the chunk's file, for an upload.
   * @throws when the file does not exist.
   */
  chunkContent(number: number): Promise<UploadContent>;
  /** Whether the chunk's file has exactly this content. A file that this process has written is not read again. */
  hasChunk(number: number, sha256: string): Promise<boolean>;
  removeChunk(number: number): Promise<void>;
  /**
   * Compresses a decoded part and streams it to the store. The part appears whole or not at all. Stored files of the
   * same part with other content stay. The part is certain to survive a power failure only after `syncParts`.
   */
  writePart(chunk: number, part: PartReference, content: ByteStream): Promise<WrittenPart>;
  /** Resolves when all parts that were written before the call survive a power failure. */
  syncParts(): Promise<void>;
  /**
   * The decoded bytes of a stored part, checked against its hash. Each piece belongs to the reader.
   * @throws DamagedPartError, while it is read, when the part is missing or differs from what was written.
   */
  readPart(chunk: number, part: StoredPart): AsyncIterable<Uint8Array>;
  /** Removes the stored file of a part with this content. */
  removePart(chunk: number, part: StoredPart): Promise<void>;
}

/** The parts of one run. */
export type PartFiles = Pick<RunFiles, 'writePart' | 'syncParts' | 'readPart' | 'removePart'>;

/** The parts of all runs. */
export interface PartStore extends Omit<FileStore, 'ofRun'> {
  ofRun(run: string): Promise<PartFiles>;
}

/** The files of all runs. */
export interface FileStore {
  /** The files of one run. Creates a folder for them if it is missing. */
  ofRun(run: string): Promise<RunFiles>;
  /** Bytes of all files of a run; undefined if it has none. */
  sizeOf(run: string): Promise<number | undefined>;
  /** Removes all files of a run. A run without files is no error. */
  remove(run: string): Promise<void>;
  /** Every run that has a folder for files, even if the checkpoint does not know the run. */
  runs(): Promise<readonly StoredRun[]>;
}

/** @see FileStore.runs */
export interface StoredRun {
  readonly run: string;
  /** The location of its files, for people. */
  readonly location: string;
}

/** A stored part is missing or was changed; it can be fetched again. */
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

/**
 * The files of runs that any machine can continue. Parts were paid for, so they are where every machine sees them.
 * Chunk files can be cut again from the source, so they are on this machine.
 * @param expectHeld throws if this process may not remove what another one may need.
 */
export function createSplitFiles(
  chunks: FileStore,
  parts: PartStore,
  expectHeld: () => Promise<void>,
): FileStore {
  return {
    ofRun: async (run) => {
      const shared = await parts.ofRun(run);
      return {
        ...(await chunks.ofRun(run)),
        writePart: shared.writePart,
        syncParts: shared.syncParts,
        readPart: shared.readPart,
        removePart: async (chunk, part) => {
          await expectHeld();
          await shared.removePart(chunk, part);
        },
      };
    },
    sizeOf: async (run) => {
      const sizes = [await parts.sizeOf(run), await chunks.sizeOf(run)].filter((size) => size !== undefined);
      return sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0);
    },
    remove: async (run) => {
      await expectHeld();
      await parts.remove(run);
      await chunks.remove(run);
    },
    runs: async () => {
      const found = [...(await parts.runs()), ...(await chunks.runs())];
      return [...new Map(found.reverse().map((one) => [one.run, one])).values()];
    },
  };
}
