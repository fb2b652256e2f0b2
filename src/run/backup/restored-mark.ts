/**
 * `<stateDir>/restored.json`: this state was restored, and what was paid after its backup is not known. Until a person
 * has confirmed that for a pipeline (`--yes`), nothing is sent for it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { GuardError } from '../../errors.js';
import { type Logger, silentLogger } from '../../logger.js';
import { writeFileAtomically } from '../../streams/atomic-file.js';
import { isMissing } from '../../streams/system-error.js';
import type { RunOptions } from '../run-options.js';

const NAME = 'restored.json';

interface Mark {
  readonly restoredAt: number;
  readonly backupAt: number;
  /** Pipelines for which it was confirmed. */
  readonly confirmed: readonly string[];
}

/** Marks a state folder as restored. Called before anything else is restored. */
export async function markRestored(stateDir: string, times: Omit<Mark, 'confirmed'>): Promise<void> {
  await write(stateDir, { ...times, confirmed: [] });
}

/** Whether the state was restored, so that uploads after its backup may be missing in it. */
export function isRestored({ stateDir }: Pick<Config, 'stateDir'>): boolean {
  return read(stateDir) !== undefined;
}

/**
 * Lets a command pass that may pay, if nothing was restored, or if it was confirmed now or before.
 * @throws GuardError `RESTORED_UNCONFIRMED`.
 */
export async function refuseUnconfirmed(
  { stateDir, pipeline }: Pick<Config, 'stateDir' | 'pipeline'>,
  { yes = false }: Pick<RunOptions, 'yes'>,
  logger: Logger = silentLogger,
): Promise<void> {
  const mark = read(stateDir);
  if (mark === undefined || mark.confirmed.includes(pipeline)) return;
  const backupAt = new Date(mark.backupAt).toISOString();
  const facts = { backupAt, restoredAt: new Date(mark.restoredAt).toISOString(), pipeline };
  const text = `the state was restored from a backup of ${backupAt}: what ${pipeline} sent after that is not known, and is paid for again`;
  if (!yes) {
    throw new GuardError('RESTORED_UNCONFIRMED', `${text}; nothing was sent`, {
      hint: `look at the service for files named ${pipeline}-RUN-CHUNK-... that were sent after ${backupAt}; bind each that belongs to an unfinished run: foliopipe adopt --run RUN --chunk CHUNK FOLIO; then, to pay again for the others: foliopipe run --yes`,
      facts,
    });
  }
  await write(stateDir, { ...mark, confirmed: [...mark.confirmed, pipeline] });
  logger.warn(facts, `${text}: confirmed by --yes`);
}

function read(stateDir: string): Mark | undefined {
  try {
    return JSON.parse(readFileSync(join(stateDir, NAME), 'utf8')) as Mark;
  } catch (error) {
    if (isMissing(error)) return undefined;
    // What cannot be read confirms nothing.
    if (error instanceof SyntaxError) return { restoredAt: 0, backupAt: 0, confirmed: [] };
    throw error;
  }
}

async function write(stateDir: string, mark: Mark): Promise<void> {
  const text = `${JSON.stringify(mark)}\n`;
  await writeFileAtomically(join(stateDir, NAME), 0o600, (file) => writeFileSync(file, text));
}
