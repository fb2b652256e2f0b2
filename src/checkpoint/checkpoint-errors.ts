/** The errors of the checkpoint that its callers distinguish. */

/**
 * A change of state found no row in a state that allows it. This is a bug, never an operator's mistake. So it is not a
 * `FoliopipeError`, and the command ends with exit 1.
 */
export class CheckpointStateError extends Error {
  /** The method of the port that threw. */
  readonly method: string;

  constructor(method: string, found: string) {
    super(`${method}: ${found}`);
    this.name = 'CheckpointStateError';
    this.method = method;
  }
}

/** The journal has recorded a reply, but the database could not. `cause` is the error of the database. */
export class OnlyInJournalError extends Error {
  constructor(cause: unknown) {
    super('only the journal could record the reply', { cause });
    this.name = 'OnlyInJournalError';
  }
}
