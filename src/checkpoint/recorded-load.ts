/** What the checkpoint keeps of the load of a publication. */

/** How the last attempt to load a publication of a run has ended. What is in the table, the database itself knows. */
export interface RecordedLoad {
  readonly publication: number;
  /** The database, without user and password, and the table. */
  readonly into: string;
  readonly table: string;
  readonly mode: 'append' | 'replace' | 'merge';
  /** `already`: it was loaded before, by an attempt that could not record it. */
  readonly state: 'loaded' | 'already' | 'left' | 'failed';
  /** Why it is left, or has failed; else null. */
  readonly why: string | null;
  /** The code of the error; null if it has not failed. */
  readonly code: string | null;
  readonly base: number | null;
  readonly written: number;
  readonly removed: number;
  readonly added: readonly string[];
  /** Epoch milliseconds. */
  readonly at: number;
}
