/**
 * Folios that the service has given and that the checkpoint could not record: their chunks are paid for. Nothing more is
 * uploaded then. If a folio is recorded nowhere, the run ends with an error that names it, so that a person can adopt it.
 */
import { OnlyInJournalError } from '../../checkpoint/checkpoint-errors.js';
import { ConfigError, FoliopipeError, LockedError } from '../../errors.js';
import { adoptCommand } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';

/**
 * Stops the uploads, and logs the folio.
 * @param error why the checkpoint could not record it.
 * @returns the error to throw.
 */
export function afterUnrecorded(
  run: Pick<RunContext, 'id' | 'logger' | 'uploads'>,
  chunk: number,
  folio: string,
  error: unknown,
): unknown {
  run.uploads.stopped = true;
  if (error instanceof OnlyInJournalError) {
    run.logger.warn(
      { chunk, folio },
      `chunk ${chunk} was accepted as folio ${folio}; only the journal could record it, and the next run takes it up from there`,
    );
    return error.cause;
  }
  // A checkpoint on a database server records the reply first and checks the lease after that: the folio is recorded.
  if (error instanceof LockedError && error.code === 'LEASE_LOST') return error;
  run.uploads.unrecorded.push({ chunk, folio, cause: error });
  const unrecorded = unrecordedError(run)!;
  // The process may be killed before it ends with this error.
  run.logger.error({ chunk, folio, code: unrecorded.code }, unrecorded.message);
  return unrecorded;
}

/**
 * The error with which a run must end whatever else happened: folios that were read and could be recorded nowhere.
 * The same command would pay for their chunks again, so a scheduler must not repeat it.
 * @returns undefined if there are none.
 */
export function unrecordedError({
  id,
  uploads: { unrecorded },
}: Pick<RunContext, 'id' | 'uploads'>): ConfigError | undefined {
  const [first] = unrecorded;
  if (first === undefined) return undefined;
  const names = unrecorded.map(({ chunk, folio }) => `chunk ${chunk} was accepted as folio ${folio}`);
  const commands = unrecorded.map(({ chunk, folio }) => adoptCommand(id, chunk, folio));
  const { cause } = first;
  return new ConfigError(
    'FOLIO_NOT_RECORDED',
    `${names.join(', ')}, but that could not be recorded: ${cause instanceof FoliopipeError ? cause.message : String(cause)}`,
    {
      hint: `repair the state folder or the database of the state, then, before any other run, which would pay again: ${commands.join('; ')}`,
      facts: { run: id, chunk: first.chunk, folio: first.folio, folios: unrecorded.length },
      cause,
    },
  );
}
