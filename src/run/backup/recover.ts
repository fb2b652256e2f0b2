/** Rebuilds a lost, damaged or outdated checkpoint from the journals and the parts on the disk. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkCall } from '../../check-call.js';
import type { RunState } from '../../checkpoint/checkpoint.js';
import { isBehind } from '../../checkpoint/journal/compare-journal.js';
import { runsWithFiles, segmentFiles } from '../../checkpoint/journal/files-in-state.js';
import { hasJournal, journalPath, readJournal } from '../../checkpoint/journal/journal-file.js';
import { readSearchJournal } from '../../checkpoint/journal/search-journal.js';
import { rebuildRun } from '../../checkpoint/recovery/rebuild-run.js';
import type { RebuiltRun } from '../../checkpoint/recovery/rebuilt-run.js';
import {
  type BaseState,
  openRecoveredDatabase,
  type RecoveredDatabase,
} from '../../checkpoint/recovery/recovered-database.js';
import { holderHere } from '../../checkpoint/sqlite/lock-file.js';
import { copyPath } from '../../checkpoint/sqlite/open-connection.js';
import { createFileLock, withAllPipelinesStopped } from '../../checkpoint/sqlite/pipeline-lock.js';
import { refuseUnusedCopy } from '../../checkpoint/sqlite/refuse-lost.js';
import { translateStateError } from '../../checkpoint/sqlite/translate-state-error.js';
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import { type StateContext, waitForLock, withContext } from '../open/open-state.js';
import type { RunOptions } from '../run-options.js';
import { type MaybeInDatabase, refuseDatabase } from '../state-reader.js';
import { findParts } from './find-parts.js';
import { NO_ANSWERS, type RecoveredAnswers, recoverAnswers } from './recover-answers.js';

/** How the checkpoint is rebuilt. */
export interface RecoverOptions extends Pick<RunOptions, 'signal' | 'logger' | 'holder' | 'clock'> {
  /** Only report what would be rebuilt. */
  readonly dryRun?: boolean | undefined;
}

/** A number of uploads and their records. */
export interface UploadSum {
  readonly uploads: number;
  readonly records: number;
}

/** The report on one run. */
export interface RecoveredRun {
  readonly run: string;
  /** Null if it is not known. */
  readonly pipeline: string | null;
  /**
   * `kept`: the checkpoint knows everything in the run's journal. `renewed`: the same, but the journal was damaged and
   * is written again from the checkpoint. `rebuilt`: the run was rebuilt from its journal. `lost`: the run has no
   * readable journal, or the unreadable part of it may hold more than the checkpoint knows; the run's folder stays
   * unchanged.
   */
  readonly found: 'kept' | 'renewed' | 'rebuilt' | 'lost';
  /** What is wrong with the journal; null if nothing is. */
  readonly reason: string | null;
  readonly state: RunState | null;
  readonly prunedAt: number | null;
  readonly chunks: number;
  /** Chunks with all results on the disk, chunks with a known folio, and ambiguous chunks. */
  readonly downloaded: number;
  readonly folios: number;
  readonly ambiguous: number;
  /** Records that were, or may have been, paid for; and how many of them are in ambiguous uploads. */
  readonly records: number;
  readonly ambiguousRecords: number;
  /** Uploads without a reply, about which `ambiguous.policy` must decide: the newest of each chunk. */
  readonly undecided: UploadSum;
}

/** What `recover` has rebuilt. */
export interface Recovered {
  /** The state in which the checkpoint was found. */
  readonly base: BaseState;
  readonly runs: readonly RecoveredRun[];
  readonly answers: RecoveredAnswers;
  /** Paid searches of no run that were missing in the checkpoint, and have a row again. */
  readonly searches: number;
  /** Whether a rebuilt checkpoint has replaced the old one. */
  readonly replaced: boolean;
  /** Paths under which the files of the old checkpoint are kept; the database comes first, if there was one. */
  readonly aside: readonly string[];
  /** Whether runs may be missing, because a version without journals has pruned them. */
  readonly mayLackPruned: boolean;
}

/**
 * Removes nothing and sends no request. Afterwards the usual commands work again; results that are not on the disk are
 * fetched again, which costs nothing.
 * @throws LockedError when a run of any pipeline is working; ConfigError `STATE_MISSING`,
 *   `CHECKPOINT_LOST`, `CHECKPOINT_NEWER`.
 */
export async function recover(
  config: Pick<Config, 'stateDir' | 'pipeline'> & MaybeInDatabase,
  options: RecoverOptions = {},
): Promise<Recovered> {
  checkCall('recover', { place: config, options });
  refuseDatabase(config, 'foliopipe recover');
  return withContext(options, (context) => recoverFolder(config, options, context));
}

async function recoverFolder(
  { stateDir, pipeline }: Pick<Config, 'stateDir' | 'pipeline'>,
  options: RecoverOptions,
  context: StateContext,
): Promise<Recovered> {
  const { clock } = context;
  const ids = runsWithFiles(stateDir);
  const path = join(stateDir, 'checkpoint.db');
  refuseUnusedCopy(path);
  if (
    ids.length === 0 &&
    segmentFiles(stateDir).length === 0 &&
    readSearchJournal(stateDir).size === 0 &&
    !existsSync(path) &&
    !existsSync(`${path}-wal`)
  ) {
    throw new ConfigError('STATE_MISSING', `${stateDir} holds no state: there is nothing to recover`, {
      hint: 'name the folder of the state with --state-dir',
    });
  }
  const request = { pipeline, holder: holderHere(options.holder, clock.now()), wait: 0 };
  const lock = await waitForLock(createFileLock(stateDir), request, context);
  try {
    const rebuildNow = () => rebuildAll(stateDir, ids, options.dryRun ? null : clock.now());
    return await withAllPipelinesStopped(stateDir, rebuildNow);
  } finally {
    await lock.close();
  }
}

/**
 * Rebuilds what is lost, for a caller that holds the locks of all pipelines.
 * @param ids the runs with files in the state folder.
 * @param at epoch milliseconds; null for a dry run.
 */
export async function rebuildAll(
  stateDir: string,
  ids: readonly string[],
  at: number | null,
): Promise<Recovered> {
  let database: RecoveredDatabase | undefined;
  try {
    database = openRecoveredDatabase(stateDir);
    return await rebuild(database, stateDir, ids, at);
  } catch (error) {
    database?.discard();
    throw translateStateError(error, join(stateDir, 'checkpoint.db'));
  }
}

/** @param at epoch milliseconds; null for a dry run. */
async function rebuild(
  database: RecoveredDatabase,
  stateDir: string,
  ids: readonly string[],
  at: number | null,
): Promise<Recovered> {
  const runs: RecoveredRun[] = [];
  const rebuilt: RebuiltRun[] = [];
  for (const id of ids) {
    const examined = examineRun(database, stateDir, id);
    if ('head' in examined) rebuilt.push(examined);
    else {
      runs.push(examined);
      if (examined.found === 'renewed' && at !== null) database.renewJournal(id, at);
    }
  }
  rebuilt.sort((a, b) => a.head.createdAt - b.head.createdAt);
  for (const run of rebuilt) {
    const bought = [...run.chunks.values()].filter(({ state }) => state === 'submitted');
    const parts = await findParts(dirname(journalPath(stateDir, run.head.run)), bought);
    await database.put(run, parts);
    runs.push(rebuiltReport(run, parts.size));
  }
  await database.putPublications(rebuilt);
  const searches = await database.putSingleSearches([...readSearchJournal(stateDir).values()]);
  const { base } = database;
  const isNeeded = rebuilt.length > 0 || searches > 0 || base !== 'whole';
  const answers = isNeeded ? await recoverAnswers(database, stateDir, rebuilt) : NO_ANSWERS;
  if (!isNeeded || at === null) database.discard();
  const aside = isNeeded && at !== null ? await database.putInPlace(at) : [];
  const mayLackPruned = base !== 'whole' && hadNoJournals(stateDir, ids);
  return { base, runs, answers, searches, replaced: isNeeded && at !== null, aside, mayLackPruned };
}

/** Whether an older version kept no journals: a copy of its database is there, or a run has no journal. */
function hadNoJournals(stateDir: string, ids: readonly string[]): boolean {
  const path = join(stateDir, 'checkpoint.db');
  if ([1, 2].some((version) => existsSync(copyPath(path, version)))) return true;
  return ids.some((run) => !existsSync(journalPath(stateDir, run)));
}

/** @returns the run from its journal if it must be rebuilt; else the report on it. */
function examineRun(database: RecoveredDatabase, stateDir: string, run: string): RebuiltRun | RecoveredRun {
  const isKnown = database.known.includes(run);
  const path = journalPath(stateDir, run);
  try {
    if (!hasJournal(path)) return reportWithoutJournal(run, path, isKnown);
    const compared = isKnown ? database.compare(run) : undefined;
    if (compared !== undefined && !isBehind(compared)) {
      if (!compared.isDamaged) return { ...emptyReport(run), found: 'kept' };
      if (compared.doubt !== null) return lostReport(run, compared.doubt);
      return { ...emptyReport(run), found: 'renewed', reason: `${path} was damaged` };
    }
    return rebuildRun(readJournal(path));
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'JOURNAL_DAMAGED') {
      return lostReport(run, `line ${error.facts.line} of ${path} is damaged`);
    }
    throw error;
  }
}

/** An empty journal is treated as a missing one. */
function reportWithoutJournal(run: string, path: string, isKnown: boolean): RecoveredRun {
  const isMissing = !existsSync(path);
  if (!isKnown) return lostReport(run, `${path} is ${isMissing ? 'missing' : 'empty'}`);
  if (isMissing) return { ...emptyReport(run), found: 'kept' };
  return { ...emptyReport(run), found: 'renewed', reason: `${path} was empty` };
}

function emptyReport(run: string): Omit<RecoveredRun, 'found'> {
  const none = { chunks: 0, downloaded: 0, folios: 0, ambiguous: 0, records: 0, ambiguousRecords: 0 };
  return { run, pipeline: null, reason: null, state: null, prunedAt: null, ...none, undecided: sum([]) };
}

function lostReport(run: string, reason: string): RecoveredRun {
  return { ...emptyReport(run), found: 'lost', reason };
}

function rebuiltReport(run: RebuiltRun, downloaded: number): RecoveredRun {
  const chunks = [...run.chunks.values()].filter(({ state }) => state !== 'split');
  const paid = [...run.uploads.values()].filter(({ state }) => state !== 'dropped');
  const ambiguous = paid.filter(({ state }) => state === 'ambiguous');
  return {
    ...emptyReport(run.head.run),
    found: 'rebuilt',
    pipeline: run.head.pipeline,
    state: run.state,
    prunedAt: run.prunedAt,
    chunks: chunks.length,
    downloaded,
    folios: paid.filter(({ state }) => state === 'accepted').length,
    ambiguous: sum(ambiguous).uploads,
    records: sum(paid).records,
    ambiguousRecords: sum(ambiguous).records,
    undecided: sum(undecidedOf(run)),
  };
}

/** Uploads that were answered with something other than a folio are never sent again automatically. */
function undecidedOf(run: RebuiltRun): Iterable<{ readonly records: number }> {
  const newest = new Map<number, { readonly records: number }>();
  const answered = new Set<number>();
  for (const upload of run.uploads.values()) {
    if (upload.state !== 'ambiguous' || run.chunks.get(upload.chunk)?.state !== 'ambiguous') continue;
    newest.set(upload.chunk, upload);
    if (upload.doubt !== 'no-reply') answered.add(upload.chunk);
  }
  for (const chunk of answered) newest.delete(chunk);
  return newest.values();
}

function sum(uploads: Iterable<{ readonly records: number }>): UploadSum {
  const all = [...uploads];
  return { uploads: all.length, records: all.reduce((records, one) => records + one.records, 0) };
}
