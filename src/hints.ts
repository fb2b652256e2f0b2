/**
 * Hints for errors, by their code: the command to run or the setting to change. The checkpoint and the stores know no
 * commands and flags, so their errors name none. Errors of the stages may have hints of their own.
 */
import type { ErrorFacts, FoliopipeError } from './errors.js';
import { databaseCheck } from './postgres/read-error.js';
import { quoteForShell } from './text.js';

/** @returns the error's own hint, or the hint for its code; undefined if there is none. */
export function hintOf(error: FoliopipeError): string | undefined {
  // A program in plain JavaScript may pass whatever was thrown.
  const { hint, code, facts } = error ?? {};
  return hint ?? hints[code]?.(facts);
}

const GO_ON = 'run the same command again: it goes on where this one stopped';
const UPGRADE = 'upgrade foliopipe on this machine, then run the same command again';
const REBUILD = 'rebuild it with: foliopipe recover; or put';

/** What to write into the config after a state was copied to this place. @param place as it is shown. */
export function movedHint(place: string): string {
  return place.startsWith('postgres')
    ? `write state: \${STATE_URL} into the config in place of stateDir, with the address of ${place} in that variable`
    : `write stateDir: ${place} into the config in place of state, files and scratchDir`;
}

/** The command that removes the mark of a state that was copied. */
function removeMark(state: string): string {
  return state.startsWith('postgres')
    ? 'delete from foliopipe.copy_marks, in the database'
    : `rm ${quoteForShell(`${state}/copy.json`)}`;
}

/** The cap to raise, and how long to wait instead. Waiting never helps a request that is larger than the cap. */
function capText({ cap, limit, records }: ErrorFacts): string {
  if (cap === 'perRun') return 'budget.perRun';
  if (Number(records) > Number(limit)) {
    return `budget.${cap} (waiting does not help: this request alone has ${records})`;
  }
  return `budget.${cap}, or wait for the next ${cap === 'perDay' ? 'day' : 'month'} (budget.timeZone)`;
}

const hints: Readonly<Record<string, (facts: ErrorFacts) => string>> = {
  BUDGET_REACHED: (facts) => `raise ${capText(facts)}, and ${GO_ON}`,
  PIPELINE_LOCKED: ({ here }) =>
    here === true
      ? 'close the run that this process has open, or await its job, and call again (the option waitLock waits for it)'
      : 'wait until it ends (--wait-lock 30m does), or look at it: foliopipe status',

  STATE_MISSING: () =>
    'if nothing was run yet, begin with: foliopipe run; otherwise name the folder with --state-dir, or put the state back (docs/backup.md)',
  STATE_DIR_NETWORK: () => 'set stateDir (--state-dir) to a folder on a local disk',
  STATE_DIR_UNWRITABLE: afterUnwritable,

  STATE_DATABASE_LOST: ({ reason }) =>
    `${databaseCheck(String(reason), 'state')}, then run the same command again: a run goes on where it stopped`,
  STATE_DATABASE_FAILED: () => `look at the log of the database, then ${GO_ON}`,
  STATE_DATABASE_FULL: () =>
    `raise max_connections of the database, or do fewer runs at once: each has up to three connections; then ${GO_ON}`,
  STATE_DATABASE_READ_ONLY: () =>
    `set state to the server that accepts changes (after a failover, the new primary), or make its database writable, then ${GO_ON}`,
  FILES_FOLDER_MISSING: ({ folder }) =>
    `mount it on this machine, then run the same command again; nothing is lost while it is away; if it is gone for good, make it again, empty: mkdir -p ${quoteForShell(String(folder))}`,
  STATE_DATABASE_REFUSED: () =>
    'correct user and password in state, or let the server accept this user from this machine',
  STATE_DATABASE_MISSING: () => 'correct the database in state, or create it',
  STATE_DATABASE_DENIED: () => 'give the role that right: docs/many-machines.md lists what it needs',
  STATE_DATABASE_ENCODING: () =>
    'create a database with the encoding UTF8 (createdb --encoding=UTF8 --template=template0 NAME), and set state to it',
  STATE_DATABASE_POOLED: () =>
    'set the pooler to session mode (pool_mode = session), or set state to the address of the database itself',
  STATE_DRIVER_MISSING: () => 'npm install pg, beside foliopipe',
  STATE_IN_USE: () => 'wait until no pipeline is running, then start the newer foliopipe',
  LEASE_LOST: () => `see whether another process goes on: foliopipe status; if none does, ${GO_ON}`,
  STATE_IN_DATABASE: () =>
    'back up, restore and repair the database with its own tools, such as pg_dump; to move the state into a new folder: foliopipe state copy --to FOLDER',

  STATE_IN_FOLDER: ({ stateDir }) =>
    `copy the folder into the database: foliopipe state copy --from ${quoteForShell(String(stateDir))}; or go on in the folder: unset FOLIOPIPE_STATE, or leave state out of the config; or, if its runs no longer count, move that folder away`,
  STATE_MOVED: ({ state, place }) =>
    `${movedHint(String(place))}, then run the same command again; to copy it back, name a new folder with state copy --to; to go on here instead, if nothing was sent from there, remove the mark: ${removeMark(String(state))}`,
  STATE_COPY_UNFINISHED: () =>
    'type the same foliopipe state copy again; until it has ended, use the state that it copies from, unless that is this one',
  STATE_COPY_PIPELINES: () =>
    'nothing was copied; name another database, or use only the state whose runs you need',
  STATE_COPY_ANSWERS: () =>
    'nothing was copied; copy the state with stored answers first, into an empty database, and then those without; or name another database',
  STATE_COPY_PLACES: () =>
    'copy a folder with: foliopipe state backup FOLDER; a database with its own tools, such as pg_dump',
  STATE_COPY_DIFFERS: () => 'the copy is not used; run the same command again',

  FLEET_NODE_OLD: () =>
    'start it with a newer Node, such as 24; foliopipe run works with this one, without a fleet',
  FLEET_DRIVER_MISSING: () => 'npm install pg-boss@12.30.0, beside foliopipe',
  FLEET_DRIVER_OTHER: () => 'npm install pg-boss@12.30.0, beside foliopipe',
  FLEET_STATE_MISSING: () =>
    'set the variable FOLIOPIPE_STATE, or name a config with state: postgres://... (-c FILE); without a database, foliopipe run does the job',
  FLEET_STDIN: () =>
    'write it to a file that every machine sees, and name that with source.path; or type foliopipe run, which reads it',
  JOBS_NEWER: () => UPGRADE,
  JOBS_OLDER: () => 'start `foliopipe worker` of this version: it brings the tables up to date',
  JOBS_IN_USE: () =>
    'stop the older workers first (SIGTERM: they hand back their runs), then start the newer ones',
  RUN_NOT_STARTED: () => 'look at disk, memory and limits of the machine where the worker runs',
  RUN_CRASHED: () => 'look at the log of the worker, and at the memory of its machine',
  RUN_PARTLY_PUBLISHED: () => 'it goes on by itself, after a pause',
  RUN_WITHHELD: ({ run }) =>
    `look at it: foliopipe runs show ${run}; publish it as it is: foliopipe publish ${run}; or raise failures.tolerate`,
  WORKER_PORT_TAKEN: () => 'choose another --port or --host; 0 takes a free port',

  CHECKPOINT_BUSY: () => 'wait until that process ends, then run the same command again',
  CHECKPOINT_IO: () => 'look at the disk, then run the same command again',
  CHECKPOINT_NEWER: () => UPGRADE,
  CHECKPOINT_OLDER: () => 'start `foliopipe run`: it brings the file up to date',
  CHECKPOINT_GONE: afterGone,
  CHECKPOINT_DAMAGED: () => `${REBUILD} back a copy of it, together with its checkpoint.db-wal`,
  CHECKPOINT_LOST: afterLost,
  CHECKPOINT_BEHIND: afterBehind,
  JOURNAL_DAMAGED: () =>
    'see what can be rebuilt with: foliopipe recover --dry-run; or put back a copy of the file',
  JOURNAL_NEWER: () => UPGRADE,

  OUTPUT_CHANGED: () => 'write it again with: foliopipe publish RUN',
  FOLDER_UNWRITABLE: ({ reason }) =>
    `${RIGHTS.has(String(reason)) ? 'let this user write there, or ' : ''}name another folder with output.path (--output), then run the same command again`,
  DELTA_BASE_LOST: withoutDelta,
  DELTA_BASE_DAMAGED: withoutDelta,
  REUSE_CHOICE_LOST: afterChoiceLost,
  REUSE_CHOICE_DAMAGED: afterChoiceLost,
  REUSE_SEGMENT_LOST: afterSegmentLost,
  REUSE_SEGMENT_DAMAGED: afterSegmentLost,
  REUSE_SECRET_LOST: ({ file }) =>
    `restore ${file} from a backup; without it no stored answer can be found: to give the answers up, run foliopipe reuse forget --all; those that are in an output can then be imported: foliopipe reuse import FILE`,
};

/** The system's codes for a folder that somebody can make writable for this user. */
const RIGHTS: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

/** The base of a delta is lost. */
function withoutDelta(): string {
  return 'nothing is published, and nothing is paid again; to begin anew, publish once without a delta (foliopipe publish RUN --set output.delta=false), then run the same command again: its delta has no base and holds every row';
}

/** A run cannot know any more which answers it reuses. */
function afterChoiceLost({ file }: ErrorFacts): string {
  return `restore ${file} from a backup; without it: foliopipe run --new, which buys again what this run has sent and not published`;
}

/** The stored answers of a run are lost. */
function afterSegmentLost({ file, run }: ErrorFacts): string {
  return `restore ${file} from a backup, or give its answers up with foliopipe reuse forget --run ${run}: they are bought again then, unless they are imported from an output: foliopipe reuse import FILE`;
}

/** The checkpoint is older than the journal that the facts name; without a journal, it lacks a whole run. */
function afterBehind({ journal }: ErrorFacts): string {
  return journal === undefined
    ? `${REBUILD} back a copy of checkpoint.db, together with its checkpoint.db-wal`
    : `${REBUILD} the newer checkpoint.db back, together with its checkpoint.db-wal`;
}

/** The state folder cannot be written. Another one would not know what is paid for, so it is named only with care. */
function afterUnwritable({ hasCheckpoint }: ErrorFacts): string {
  if (hasCheckpoint === true)
    return 'let this user write there again, then run the same command again (what is paid for is recorded there: with another stateDir it would be paid again); to read it now, copy the whole folder to a disk that can be written, and name the copy with --state-dir';
  return hasCheckpoint === 'hidden'
    ? 'let this user enter that folder and write there, then run the same command again (if foliopipe was at work there before, what is paid for is recorded there: with another stateDir it would be paid again)'
    : 'if this is where foliopipe was at work before, let this user write there again; else set stateDir (--state-dir) to a folder that this user may write';
}

/** The checkpoint is missing. A run may have saved a copy of it. */
function afterLost(facts: ErrorFacts): string {
  return facts.saved === undefined
    ? `${REBUILD} back a copy of checkpoint.db, together with its checkpoint.db-wal; if the pipeline has its state in a database (state, FOLIOPIPE_STATE), set that again instead`
    : `put the copy in its place: ${moveCommand(facts)}; then run the same command again`;
}

/** The files of the state were removed or replaced while a run worked. */
function afterGone(facts: ErrorFacts): string {
  return facts.saved === undefined
    ? 'put the state folder back as it was, then run the same command again'
    : `put the state folder back as it was, or the copy: ${moveCommand(facts)}; then run the same command again`;
}

/** The shell command that puts a saved copy in place. It removes the old log: the copy has everything that is in it. */
function moveCommand({ saved, database, hasLog }: ErrorFacts): string {
  const [from, to] = [String(saved), String(database)];
  const removed =
    hasLog === true ? `rm -f ${quoteForShell(`${to}-wal`)} ${quoteForShell(`${to}-shm`)} && ` : '';
  return `${removed}mv ${quoteForShell(from)} ${quoteForShell(to)}`;
}
