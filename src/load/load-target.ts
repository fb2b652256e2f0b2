/** The port to a database into which publications are loaded. `src/load/` has one folder for each kind of database. */
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { AtFailpoint } from '../failpoints.js';
import type { Bytes, Milliseconds } from '../types.js';

/**
 * What a column holds. `key`: names a record; `source`: other columns of the source; `status`: the status of the
 * prediction; `reason`: why there is none; `answer`: what the service has answered; `lineage`: where that comes from.
 */
export type ColumnRole = 'key' | 'source' | 'status' | 'reason' | 'answer' | 'lineage';

/** A column of the table, and what it is filled from. */
export interface LoadColumn {
  /** As in the header of the output. */
  readonly name: string;
  readonly role: ColumnRole;
}

/** A table, and how a pipeline loads into it. */
export interface LoadTable {
  readonly pipeline: string;
  /** As it is written in the config. The target reads it like a name in SQL. */
  readonly table: string;
  readonly mode: 'append' | 'replace' | 'merge';
  readonly onSchema: 'fail' | 'add';
  readonly onRemoved: 'keep' | 'delete';
  /** In the order of the output. The last ones are missing if they are not known yet. */
  readonly columns: readonly LoadColumn[];
}

/** A published file: a comma CSV with a header. */
export interface LoadFile {
  readonly bytes: Bytes;
  /** Hex. */
  readonly sha256: string;
  /** Rows without the header. */
  readonly records: number;
  /** Reads the file from its first byte on. The memory of a piece is not reused. */
  open(): AsyncIterable<Uint8Array>;
}

/** A delta file: the columns of the output, then how the row has changed: `added`, `changed` or `removed`. */
export interface LoadDelta extends LoadFile {
  readonly base: { readonly publication: number; readonly sha256: string };
}

/** A publication to load. */
export interface LoadRequest extends LoadTable {
  readonly run: string;
  /** Number of the publication. */
  readonly publication: number;
  readonly file: LoadFile;
  /** Taken instead of the file if the table's last load is its base; null if there is none. */
  readonly delta: LoadDelta | null;
}

/** The options of a load. */
export interface LoadOptions {
  /** Aborting it undoes the load. */
  readonly signal: AbortSignal;
  readonly at: AtFailpoint;
}

/** How a load ended. */
export interface Loaded {
  /** Whether this publication was loaded before. Then nothing has changed. */
  readonly already: boolean;
  /** The publication whose delta was loaded; null if the whole output was. */
  readonly base: number | null;
  /** Rows that were inserted or changed. */
  readonly written: number;
  /** Rows that were deleted; in mode `replace` also those that are written again. */
  readonly removed: number;
  /** Columns that were added to the table. */
  readonly added: readonly string[];
}

export interface TargetOptions {
  readonly address: DatabaseAddress;
  /** How long to wait for a connection. */
  readonly connectMs: Milliseconds;
  /** A folder for the temporary files of a load of this pipeline. It need not exist, and is removed after a load. */
  readonly tempFolder: string;
}

/** The port to a database into which publications are loaded. */
export interface LoadTarget {
  /**
   * Checks that a load would be accepted: connection, rights, table, columns, names. Changes nothing.
   * @throws FoliopipeError as `load` does.
   */
  check(table: LoadTable, signal: AbortSignal): Promise<void>;
  /**
   * Loads a publication, once and as a whole: a load that is stopped at any moment leaves nothing.
   * @throws TroubleError (exit 5) when the database is down or busy; ConfigError (exit 2) when table and output do not
   *   fit, or a newer publication is loaded; UntrustedError (exit 6) when not all rows have arrived; RefusedError
   *   (exit 7) when a right is missing; the signal's reason.
   */
  load(request: LoadRequest, options: LoadOptions): Promise<Loaded>;
}

/** The state of the load of a run's publication, for its summary. */
export interface LoadReport extends Omit<Loaded, 'already'>, Pick<LoadTable, 'table' | 'mode'> {
  /** The database, without user and password. */
  readonly into: string;
  readonly publication: number;
  /**
   * `already`: loaded before, nothing has changed. `left`: not loaded, for the reason in `why`. `failed`: `why` and `code`
   * are those of the error. `pending`: no attempt to load it has ended.
   */
  readonly state: 'loaded' | 'already' | 'left' | 'failed' | 'pending';
  readonly why: string | null;
  readonly code: string | null;
  /** When the attempt ended, in epoch milliseconds; null if it is pending. */
  readonly at: number | null;
}
