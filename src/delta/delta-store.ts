/**
 * The port to the facts about the last publication of each pipeline, with which the next one is compared: its number,
 * and the digests of its rows. A delta does not need the old output itself, which may be moved or edited.
 */
import { ConfigError } from '../errors.js';

/** The last complete publication of a pipeline. */
export interface LastPublication {
  readonly publication: number;
  /** SHA-256 of its output, hex. */
  readonly sha256: string;
  /** The columns that name a record. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The name of its row digests; null if it was published without a delta. */
  readonly digests: string | null;
}

/** The port to what is kept of the last publication of each pipeline. */
export interface DeltaStore {
  /**
   * @returns undefined if nothing is kept for the pipeline.
   * @throws ConfigError `DELTA_BASE_DAMAGED`.
   */
  last(pipeline: string): Promise<LastPublication | undefined>;
  /**
   * Replaces what is kept for the pipeline, and removes all row digests except those of this publication. Once the
   * promise has resolved, the change survives a power failure.
   */
  recordLast(pipeline: string, last: LastPublication): Promise<void>;
  /**
   * Writes row digests, which appear whole or not at all, and survive a power failure. Replaces those with the same name.
   * @param fill calls its parameter to append a piece; the piece may be overwritten after that call.
   */
  writeDigests(
    pipeline: string,
    name: string,
    fill: (append: (piece: Uint8Array) => void) => Promise<void>,
  ): Promise<void>;
  /** @returns undefined if there are none with this name. */
  openDigests(pipeline: string, name: string): Promise<StoredDigests | undefined>;
}

/** The digests of the rows of a publication. */
export interface StoredDigests {
  /** Length in bytes. */
  readonly size: number;
  /**
   * Fills the array with the bytes from a position on.
   * @returns how many bytes were read: fewer only at the end.
   */
  read(position: number, into: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** The error for a pipeline whose last publication cannot be compared with. */
export function baseLostError(pipeline: string, what: string): ConfigError {
  return new ConfigError('DELTA_BASE_LOST', `pipeline ${pipeline}: ${what}`, {
    facts: { pipeline },
  });
}
