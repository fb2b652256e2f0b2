/** The port to the store of publications. The default store is folders on the local disk. */
import type { Bytes } from '../types.js';

/** Identifies the content under a name. */
export interface OutputIdentity {
  readonly bytes: Bytes;
  /**
   * Changes whenever the content is replaced or touched. The same content may get a new stamp, so if stamps differ, the
   * content must be compared.
   */
  readonly stamp: string;
  /** SHA-256 of the content, hex. Reads all of it; undefined if it was removed meanwhile. */
  sha256(): Promise<string | undefined>;
}

/** Whether this is the content that was published; it is read only if its length fits. */
export async function hasContent(
  found: OutputIdentity,
  { bytes, sha256 }: { readonly bytes: Bytes; readonly sha256: string },
): Promise<boolean> {
  return found.bytes === bytes && (await found.sha256()) === sha256;
}

/** How a publication becomes files in a folder. */
export interface CutOptions {
  readonly pipeline: string;
  /** The most bytes of a file; null for one file. */
  readonly maxFileBytes: Bytes | null;
}

/** Everything that a publication writes. A name is `output.path` of the config, or made from it. */
export interface OutputNames {
  /** `output.path`, or the file that names the newest publication in that folder. */
  readonly output: string;
  /** Manifest, marker, rejects and so on: a publication puts, replaces or removes each of them. */
  readonly beside: readonly string[];
  /** Local paths of a run's work files, which are moved to the other names. */
  readonly local: readonly string[];
  /** Local paths that the lock of an output on a disk uses while a run works on it. */
  readonly lock: readonly string[];
}

/** The port to the place where publications are put. */
export interface OutputStore {
  /**
   * Moves a complete, synced local file to a name, and replaces an old file there. Once the promise has resolved, the
   * change survives a power failure.
   * @param mode permission bits, if the store has them.
   * @param cut for a name that ends in `/`, which is the folder of a publication: the file becomes parts in it, which
   *   together are the content under that name.
   * @returns the stamp of the new content.
   */
  put(localFile: string, name: string, mode: number, cut?: CutOptions): Promise<string>;
  /** Identifies the content under a name; undefined if there is none. */
  identity(name: string): Promise<OutputIdentity | undefined>;
  /** The first bytes of the content under a name; undefined if there is none. */
  read(name: string, bytes: Bytes): Promise<Uint8Array | undefined>;
  /**
   * Reads the whole content under a name. A piece keeps its bytes after it is given.
   * @throws the system's error, such as `ENOENT`, while it is read.
   */
  stream(name: string): AsyncIterable<Uint8Array>;
  /**
   * Removes the content under a name. A missing name is no error. Once the promise has resolved, the removal survives a
   * power failure: an old marker must not reappear beside a new output.
   */
  remove(name: string): Promise<void>;
  /**
   * Checks that a publication can replace what is under the names (rule "Check before paying"). Changes nothing.
   * @param sources the paths of the source's files.
   * @param own local files that foliopipe needs itself, such as the config; they may be missing.
   * @throws ConfigError, such as `OUTPUT_IS_FOLDER`; `OUTPUT_IS_SOURCE` if a name is one of the sources,
   *   `OUTPUT_IS_OWN_FILE` if it is one of the others.
   */
  check(names: OutputNames, sources: readonly string[], own?: readonly string[]): Promise<void>;
  /**
   * Checks that this user may write under the names. Changes nothing.
   * @throws ConfigError.
   */
  checkWritable(names: OutputNames): Promise<void>;
  /**
   * Prepares the store before anything is sent, for example creates a folder.
   * @throws ConfigError when no output can be put there; the errors of `checkWritable`.
   */
  prepare(names: OutputNames): Promise<void>;
  /**
   * The names in a folder, for an `output.path` in which each run has its own; none if it cannot be read. A store without
   * this method cannot list its outputs.
   */
  names?(folder: string): Promise<readonly string[]>;
  /**
   * Removes publications of a pipeline from a folder. A store without this method has no folders, and an `output.path`
   * that ends in `/` is refused.
   * @param output the folder of all publications.
   * @param kept names of the publications' folders that stay, each with `/` at its end.
   */
  sweep?(output: string, pipeline: string, kept: readonly string[]): Promise<void>;
}
