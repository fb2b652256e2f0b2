/**
 * What is known of the load of a run's publication without asking the database: how the last attempt ended. The database
 * itself decides what is loaded; this is for people and programs that look at the run.
 */
import type { Checkpoint, CheckpointReader, RecordedLoad, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { FoliopipeError } from '../../errors.js';
import type { LoadReport } from '../../load/load-target.js';
import type { Logger } from '../../logger.js';

/** What every attempt has. Values that it did not get to are taken from `NOTHING`. */
type Attempt = Pick<RecordedLoad, 'publication' | 'into' | 'table' | 'mode' | 'at'>;

const NOTHING = { why: null, code: null, base: null, written: 0, removed: 0, added: [] };

export function failedLoad(attempt: Attempt, error: unknown): RecordedLoad {
  const code = error instanceof FoliopipeError ? error.code : null;
  const why = error instanceof Error ? error.message : String(error);
  return { ...NOTHING, ...attempt, state: 'failed', why, code };
}

/**
 * Records how a load ended. If that fails, it is only logged: the load itself has not failed. A loaded publication stays
 * recorded as such, however further attempts end: they do not change the table.
 */
export async function recordLoad(
  checkpoint: Pick<Checkpoint, 'recordLoad' | 'lastLoad'>,
  run: string,
  load: RecordedLoad,
  logger: Logger,
): Promise<void> {
  try {
    const last = load.state === 'loaded' ? undefined : await checkpoint.lastLoad(run);
    if (
      last !== undefined &&
      isDone(last) &&
      isSameTarget(last, load) &&
      last.publication === load.publication
    ) {
      return;
    }
    await checkpoint.recordLoad(run, load);
  } catch (error) {
    logger.warn({ run, error: String(error) }, `run ${run}: how its load ended could not be recorded`);
  }
}

/**
 * The state of the load of a done run's publication.
 * @returns undefined if there is no publication, or nothing was loaded and the config loads nothing.
 */
export async function loadStatus(
  checkpoint: Pick<CheckpointReader, 'lastLoad'>,
  { load }: Pick<Config, 'load'>,
  { id, state, publication }: Pick<Run, 'id' | 'state' | 'publication'>,
): Promise<LoadReport | undefined> {
  if (state !== 'done' || publication === null) return undefined;
  const last = await checkpoint.lastLoad(id);
  const isOf = (one: RecordedLoad) => one.publication === publication.number;
  if (load === null || load.into === null) return last && isOf(last) ? last : undefined;
  const { table, mode, into } = load;
  const target = { into: String(into), table };
  if (last !== undefined && isOf(last) && isSameTarget(last, target)) return last;
  return { ...NOTHING, ...target, mode, publication: publication.number, state: 'pending', at: null };
}

/** A publication whose load is missing, and its run. */
export interface MissingLoad extends LoadReport {
  readonly run: string;
}

/**
 * The newest publication of the pipeline, if its load has failed or is pending, and it is of another run than the one
 * that is looked at.
 * @param run the run that is looked at.
 */
export async function missingLoad(
  checkpoint: Pick<CheckpointReader, 'lastLoad' | 'publications' | 'run'>,
  config: Pick<Config, 'load'>,
  { id, pipeline }: Pick<Run, 'id' | 'pipeline'>,
): Promise<MissingLoad | null> {
  const newest = (await checkpoint.publications(pipeline)).find(({ isSample }) => !isSample);
  if (newest === undefined || newest.run === id) return null;
  const row = (await checkpoint.run(newest.run))!;
  if (row.publication?.number !== newest.number) return null;
  const load = await loadStatus(checkpoint, config, row);
  return load === undefined || isDone(load) || load.state === 'left' ? null : { ...load, run: row.id };
}

function isDone({ state }: Pick<LoadReport, 'state'>): boolean {
  return state === 'loaded' || state === 'already';
}

function isSameTarget(a: Pick<LoadReport, 'into' | 'table'>, b: Pick<LoadReport, 'into' | 'table'>): boolean {
  return a.into === b.into && a.table === b.table;
}
