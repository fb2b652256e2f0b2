/** The port to the store of publications. The default store is folders on the local disk. */
import type { Bytes } from '../types.js';

/** The content under a name. */
export interface OutputIdentity {
  readonly bytes: Bytes;
  /**
   * Changes whenever the content is replaced or touched. A shortcut only: the same content may get another stamp, so
   * where stamps differ the content is compared.
   */
  readonly stamp: string;
  /** SHA-256 of the content, hex. Reads all of it; undefined if it is gone by then. */
  sha256(): Promise<string | undefined>;
}

/** Names are those of the config (`output.path`) and those made from it (manifest, marker, rejects). */
export interface OutputStore {
  /**
   * Moves a whole, synced local file to a name and replaces what is there. Once this has resolved, it survives a power
   * failure.
   * @param mode permission bits, if the store has them.
   * @returns the stamp of the new content.
   */
  put(localFile: string, name: string, mode: number): Promise<string>;
  /** Undefined if there is nothing under the name. */
  identity(name: string): Promise<OutputIdentity | undefined>;
  /** Removes what is under a name; a missing name is fine. */
  remove(name: string): Promise<void>;
  /**
   * Checks, without a change, that an output can be put there (rule "Check before paying").
   * @param sources paths of the source's files.
   * @throws ConfigError `OUTPUT_IS_FOLDER`; `OUTPUT_IS_SOURCE` where the name is one of the sources.
   */
  check(name: string, sources: readonly string[]): Promise<void>;
  /** Prepares the store, for example creates a folder, before anything is sent. Throws where nothing can be put there. */
  prepare(name: string): Promise<void>;
}
