/** The port to the place where publications stand: folders on this disk, unless another store is handed in. */
import type { Bytes } from '../types.js';

/** What stands under a name. */
export interface OutputIdentity {
  readonly bytes: Bytes;
  /**
   * Changes whenever what stands there is replaced or touched. A shortcut only: the same content may get another
   * stamp, so where stamps differ the content decides.
   */
  readonly stamp: string;
  /** SHA-256 of the content, hex. Reads all of it; undefined where it has gone since. */
  sha256(): Promise<string | undefined>;
}

/** Names are those of the config (`output.path`) and those made from it (manifest, marker, rejects). */
export interface OutputStore {
  /**
   * Puts a whole, synced local file in place under a name and replaces what stands there. The local file is gone
   * then. What has resolved survives a power failure.
   * @param mode permission bits, where the store has such.
   * @returns the stamp of what now stands there.
   */
  put(localFile: string, name: string, mode: number): Promise<string>;
  /** Undefined where nothing stands under the name. */
  identity(name: string): Promise<OutputIdentity | undefined>;
  /** Removes what stands under a name; nothing there is fine. */
  remove(name: string): Promise<void>;
  /**
   * Rule "Check before paying": looks whether an output can be put there, and changes nothing.
   * @param sources paths of the source's files.
   * @throws ConfigError `OUTPUT_IS_FOLDER`; `OUTPUT_IS_SOURCE` where the name is one of the sources.
   */
  check(name: string, sources: readonly string[]): Promise<void>;
  /** Makes the place ready (its folder, say), before anything is sent. Throws where nothing could be put there. */
  prepare(name: string): Promise<void>;
}
