/**
 * A change of state found no row in a state that allows it: a bug, never an operator's fault. Not a `FoliopipeError` on
 * purpose: it is unexpected, so the command ends with exit 1.
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
