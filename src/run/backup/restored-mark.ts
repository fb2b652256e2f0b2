/**
 * `<stateDir>/restored.json`: this state was restored, and what was paid after its backup is not known. Until a person
 * has confirmed that for a pipeline (`--yes`), nothing is sent for it. Pipelines may be confirmed at the same time, so each
 * appends a line with its name in quotes.
 */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { ConfigError, GuardError } from '../../errors.js';
import { type Logger, silentLogger } from '../../logger.js';
import { writeFileAtomically } from '../../streams/atomic-file.js';
import { ignoreMissing } from '../../streams/system-error.js';
import { quoteForShell } from '../../text.js';
import type { RunOptions } from '../run-options.js';

const NAME = 'restored.json';

interface Mark {
  readonly restoredAt: number;
  readonly backupAt: number;
  /** Pipelines for which it was confirmed. */
  readonly confirmed: readonly string[];
  /** The folder of the backup until all of it is restored. */
  readonly unfinished?: string;
}

/** Marks a state folder as one to which this backup is being restored. Called before anything else is restored. */
export async function markRestoring(
  stateDir: string,
  mark: Required<Omit<Mark, 'confirmed'>>,
): Promise<void> {
  await write(stateDir, { ...mark, confirmed: [] });
}

/** Ends a restore. @param isComplete everything that was paid for is known: nothing must be confirmed. */
export async function markRestored(stateDir: string, isComplete: boolean): Promise<void> {
  if (isComplete) return rmSync(join(stateDir, NAME));
  const { unfinished: _, ...mark } = read(stateDir)!;
  await write(stateDir, mark);
}

/** Whether a restore of this backup has begun in the state folder and did not end. */
export function isRestoring(stateDir: string, folder: string, backupAt: number): boolean {
  const mark = read(stateDir);
  return mark?.unfinished === folder && mark.backupAt === backupAt;
}

/** Whether the state was restored, so that uploads after its backup may be missing in it. */
export function isRestored({ stateDir }: Pick<Config, 'stateDir'>): boolean {
  return read(stateDir) !== undefined;
}

/**
 * Lets a command that may pay go on if the state was not restored, or if that was confirmed now or before.
 * @throws GuardError `RESTORED_UNCONFIRMED`; ConfigError `RESTORE_UNFINISHED`.
 */
export async function refuseUnconfirmed(
  { stateDir, pipeline }: Pick<Config, 'stateDir' | 'pipeline'>,
  { yes = false }: Pick<RunOptions, 'yes'>,
  logger: Logger = silentLogger,
): Promise<void> {
  const mark = read(stateDir);
  if (mark?.unfinished !== undefined) {
    throw new ConfigError(
      'RESTORE_UNFINISHED',
      `a restore of ${mark.unfinished} into ${stateDir} has not ended; nothing was sent`,
      {
        hint: `begin it again: foliopipe state restore ${quoteForShell(mark.unfinished)}`,
        facts: { stateDir, backup: mark.unfinished },
      },
    );
  }
  if (mark === undefined || mark.confirmed.includes(pipeline)) return;
  const backupAt = new Date(mark.backupAt).toISOString();
  const text = textOf(mark, pipeline);
  const facts = { backupAt, restoredAt: new Date(mark.restoredAt).toISOString(), pipeline };
  if (!yes) {
    throw new GuardError('RESTORED_UNCONFIRMED', `${text}; nothing was sent`, {
      hint: `look at the service for files named ${pipeline}-RUN-CHUNK-... that were sent after ${backupAt}; bind each that belongs to an unfinished run: foliopipe adopt --run RUN --chunk CHUNK FOLIO; then, to pay again for the others: foliopipe run --yes`,
      facts,
    });
  }
  appendFileSync(join(stateDir, NAME), `\n"${pipeline}"`, { flush: true });
  logger.warn(facts, `${text}: confirmed by --yes`);
}

/** What must be confirmed before anything is sent for a pipeline; undefined if nothing must. */
export function unconfirmedText({
  stateDir,
  pipeline,
}: Pick<Config, 'stateDir' | 'pipeline'>): string | undefined {
  const mark = read(stateDir);
  if (mark === undefined || mark.confirmed.includes(pipeline)) return undefined;
  return `${textOf(mark, pipeline)}; foliopipe run asks for --yes (RESTORED_UNCONFIRMED)`;
}

function textOf({ backupAt }: Mark, pipeline: string): string {
  return `the state was restored from a backup of ${new Date(backupAt).toISOString()}: what ${pipeline} sent after that is not known, and would be paid for again`;
}

function read(stateDir: string): Mark | undefined {
  let lines: string[];
  try {
    lines = readFileSync(join(stateDir, NAME), 'utf8').split('\n');
  } catch (error) {
    return ignoreMissing(error);
  }
  const mark = markIn(lines[0]!);
  // A line without its last quote was being written when its process was killed.
  const names = lines.slice(1).filter((line) => line.endsWith('"'));
  return { ...mark, confirmed: [...mark.confirmed, ...names.map((name) => name.slice(1, -1))] };
}

function markIn(text: string): Mark {
  try {
    return JSON.parse(text) as Mark;
  } catch {
    // A mark that cannot be read confirms nothing.
    return { restoredAt: 0, backupAt: 0, confirmed: [] };
  }
}

async function write(stateDir: string, mark: Mark): Promise<void> {
  const text = `${JSON.stringify(mark)}\n`;
  await writeFileAtomically(join(stateDir, NAME), 0o600, (file) => writeFileSync(file, text));
}
