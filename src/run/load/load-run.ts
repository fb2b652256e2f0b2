/** Loads the publication of a run into the database of `load.into`, and checks that before anything is paid. */
import { join } from 'node:path';
import type { Checkpoint, Publication, RecordedLoad, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import type { LoadConfig } from '../../config/sections/load-section.js';
import { besidePath, publicationPlace } from '../../config/sections/output-names.js';
import { ConfigError, FoliopipeError, reworded } from '../../errors.js';
import { contentOf, readContent } from '../../files/encoded-file.js';
import { createLoadTable, createLoadTarget } from '../../load/configured-load.js';
import type { LoadDelta, LoadFile, LoadReport, LoadRequest, LoadTarget } from '../../load/load-target.js';
import { outputFormat } from '../../output-format.js';
import type { LoadEvent } from '../../progress/events.js';
import { countOf } from '../../quantities.js';
import { createOutputLayout, type LayoutSource } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import { expectedColumns } from '../../stages/merge/result-columns.js';
import { presentTexts } from '../../text.js';
import type { Choice } from '../../types.js';
import { checkLoadFile } from '../check/check-load-file.js';
import type { RunOptions } from '../run-options.js';
import { failedLoad, recordLoad } from './load-status.js';

/** The target of a run; null without one, and if the local service in this process answers: that is a rehearsal. */
export function openLoadTarget(
  config: Config,
  { loadTarget }: Pick<RunOptions, 'loadTarget'>,
): LoadTarget | null {
  if (!config.load?.into || config.service.embedded) return null;
  return loadTarget ?? createTarget(config);
}

/** The target of the config; null without one. */
export function createTarget({ load, timeouts, stateDir, pipeline }: Config): LoadTarget | null {
  if (!load?.into) return null;
  return createLoadTarget({
    address: load.into,
    connectMs: timeouts.connect,
    tempFolder: join(stateDir, 'loads', `${pipeline}.d`),
  });
}

/**
 * Checks that the target would accept the output, as far as its columns are known.
 * @param row the run, or what is known of a new one.
 * @throws FoliopipeError as `LoadTarget.check` does.
 */
export async function checkLoad(
  {
    config,
    checkpoint,
    loadTarget,
    signal,
  }: Pick<RunContext, 'config' | 'loadTarget' | 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'knownColumns'>;
  },
  row: Pick<Run, 'pipeline' | 'service' | 'columns'> & {
    readonly source: LayoutSource;
    readonly choice: Choice | null;
  },
): Promise<void> {
  if (loadTarget === null) return;
  const added = await expectedColumns({ config, checkpoint }, row);
  const layout = createOutputLayout(row.source, config.output);
  await loadTarget.check(createLoadTable(config, layout, added), signal);
}

/** Checks the target before more is paid, if a run that goes on, or one after its canary, has something left to send. */
export async function checkLoadOfRest(
  run: Pick<RunContext, 'id' | 'config' | 'loadTarget' | 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'knownColumns' | 'run' | 'tally'>;
  },
): Promise<void> {
  if (run.loadTarget === null) return;
  const row = (await run.checkpoint.run(run.id))!;
  const { cut, uploading, ambiguous } = (await run.checkpoint.tally(run.id)).chunks;
  if (row.chunks === null || cut + uploading + ambiguous > 0) await checkLoad(run, row);
}

/** Why a publication must not be loaded; undefined if it may. */
function whyNotLoaded(
  { rehearsal, source }: Pick<Run, 'rehearsal' | 'source'>,
  { exitCode }: Pick<Publication, 'exitCode'>,
  { partial }: Pick<LoadConfig, 'partial'>,
): string | undefined {
  if (rehearsal) return 'it is a rehearsal';
  if (source.limit !== undefined) return 'it is a sample (--limit)';
  if (exitCode !== 0 && !partial) return `it ended with exit code ${exitCode}, and load.partial is false`;
  return undefined;
}

/**
 * @throws ConfigError `LOAD_NOT_LOADABLE` for a rehearsal, a sample, and for a partial publication without
 * `load.partial`.
 */
export function checkLoadable(
  row: Pick<Run, 'id' | 'rehearsal' | 'source'>,
  publication: Pick<Publication, 'exitCode'>,
  load: Pick<LoadConfig, 'partial'>,
): void {
  const why = whyNotLoaded(row, publication, load);
  if (why === undefined) return;
  throw new ConfigError('LOAD_NOT_LOADABLE', `run ${row.id} is not loaded: ${why}`, {
    hint: row.rehearsal
      ? 'predictions of the local service are not real, and never go into a table'
      : row.source.limit !== undefined
        ? 'only outputs of the whole source go into a table: foliopipe run'
        : 'look at its failed records (docs/failed-records.md), or set load.partial: true',
    facts: { run: row.id, exitCode: publication.exitCode },
  });
}

type LoadNeeds = Pick<
  RunContext,
  'config' | 'output' | 'loadTarget' | 'signal' | 'clock' | 'at' | 'logger'
> & {
  readonly progress: Pick<RunContext['progress'], 'emit'>;
  readonly checkpoint: Pick<Checkpoint, 'recordLoad' | 'lastLoad' | 'publications'>;
};

/**
 * Loads a publication that is in place, unless it was loaded before or must not be loaded, and records how that ended.
 * @returns undefined if the config loads nothing.
 * @throws FoliopipeError as `LoadTarget.load` does. The publication stays in place, and the load can be repeated.
 */
export async function loadPublication(
  run: LoadNeeds,
  row: Run,
  publication: Publication,
): Promise<LoadReport | undefined> {
  const { load } = run.config;
  if (load === null || load.into === null) return undefined;
  const { table, mode } = load;
  const attempt = { into: String(load.into), table, mode, publication: publication.number };
  try {
    const ended = { ...attempt, ...(await loadIt(run, row, publication)), code: null, at: run.clock.now() };
    await recordLoad(run.checkpoint, row.id, ended, run.logger);
    reportLoad(run, row, publication, ended);
    return ended;
  } catch (error) {
    const failed = failedLoad({ ...attempt, at: run.clock.now() }, error);
    if (!run.signal.aborted) await recordLoad(run.checkpoint, row.id, failed, run.logger);
    throw error;
  }
}

/**
 * The last step of a job: `loadPublication`, whose error then says that the output is published, and names the command
 * that repeats only the load.
 */
export async function loadAfterPublishing(
  run: LoadNeeds,
  row: Run,
  publication: Publication,
): Promise<LoadReport | undefined> {
  try {
    return await loadPublication(run, row, publication);
  } catch (error) {
    throw run.signal.aborted ? error : onlyLoadMissing(error, row, publication);
  }
}

/** Errors with other codes say that the output is not in place. */
const LOAD_CODES = /^(LOAD|DUCKDB)_/;

function onlyLoadMissing(error: unknown, { id, state }: Run, { number, partial }: Publication): unknown {
  if (!(error instanceof FoliopipeError) || !LOAD_CODES.test(error.code)) return error;
  const message = `${error.message}; the output of run ${id} is published, as publication ${number}, and only its load is missing`;
  // The run of a partial publication is unfinished: the same command goes on with it.
  const alone = partial || state !== 'done' ? undefined : `to repeat only the load: foliopipe load ${id}`;
  const hints = [error.hint, error.hint?.includes('foliopipe load') ? undefined : alone];
  return reworded(error, {
    message,
    hint: presentTexts(hints).join('; ') || undefined,
  });
}

function reportLoad(
  { progress, config }: Pick<LoadNeeds, 'progress' | 'config'>,
  { id, pipeline }: Run,
  { number }: Publication,
  { state, written }: Pick<LoadEvent, 'state' | 'written'>,
): void {
  const { table } = config.load!;
  progress.emit({ type: 'load', run: id, pipeline, publication: number, table, state, written });
}

type Ended = Pick<RecordedLoad, 'why' | 'base' | 'written' | 'removed' | 'added'> & {
  readonly state: Exclude<RecordedLoad['state'], 'failed'>;
};

async function loadIt(run: LoadNeeds, row: Run, publication: Publication): Promise<Ended> {
  const { table, into } = run.config.load!;
  const facts = { run: row.id, publication: publication.number, into: String(into), table };
  // Without a target, the run uses the local service in this process, even if nothing was sent to it.
  const why =
    run.loadTarget === null ? 'it is a rehearsal' : whyNotLoaded(row, publication, run.config.load!);
  if (why !== undefined || run.loadTarget === null) {
    run.logger.warn(facts, `publication ${publication.number} is not loaded into ${table}: ${why}`);
    return { state: 'left', why: why ?? null, base: null, written: 0, removed: 0, added: [] };
  }
  run.logger.info(facts, `loading publication ${publication.number} into ${table} of ${into}`);
  reportLoad(run, row, publication, { state: 'begun', written: null });
  await checkLoadFile(run, row, publication);
  const request = await requestOf(run, row, publication);
  const loading = run.loadTarget.load(request, { signal: run.signal, at: run.at });
  const { already, ...loaded } = await loading.catch((error: unknown) => {
    throw nameRun(error, row.id);
  });
  const what = already ? 'was loaded before' : `is loaded: ${countOf(loaded.written, 'row')} written`;
  run.logger.info({ ...facts, written: loaded.written }, `publication ${publication.number} ${what}`);
  return { ...loaded, state: already ? 'already' : 'loaded', why: null };
}

/** Puts the run into the hint: the code that reads the output does not know it. */
function nameRun(error: unknown, run: string): unknown {
  if (!(error instanceof ConfigError) || error.code !== 'OUTPUT_CHANGED') return error;
  const hint = `write it again with: foliopipe publish ${run}; then: foliopipe load ${run}`;
  return reworded(error, { hint });
}

async function requestOf(
  { config, output }: Pick<LoadNeeds, 'config' | 'output'>,
  row: Run,
  publication: Publication,
): Promise<LoadRequest> {
  const layout = createOutputLayout(row.source, publication.output);
  const path = publicationPlace(publication.output.path, row.id, publication.number);
  const { records, content } = publication;
  const stored = { path, format: outputFormat(path), content };
  const file: LoadFile = { records, ...contentOf(publication), open: () => readContent(output, stored) };
  checkKeyOf(config, row);
  return {
    ...createLoadTable(config, layout, publication.resultColumns),
    run: row.id,
    publication: publication.number,
    file,
    delta: await deltaOf(publication, output, besidePath(path, 'delta.csv')),
  };
}

/** Null without a base, or if the delta's file is missing: then all rows of the output are loaded. */
async function deltaOf(
  { delta }: Publication,
  output: LoadNeeds['output'],
  path: string,
): Promise<LoadDelta | null> {
  if (delta == null || delta.base === null) return null;
  if ((await output.identity(path)) === undefined) return null;
  const { base, bytes, sha256, added, changed, removed } = delta;
  return { base, bytes, sha256, records: added + changed + removed, open: () => output.stream(path) };
}

/** @throws ConfigError `LOAD_KEY_UNCHECKED` if it is not known that the key names each record of the run once. */
function checkKeyOf({ load, source }: Config, { id, frozen }: Pick<Run, 'id' | 'frozen'>): void {
  if (load?.mode !== 'merge' || frozen['source.key'] === JSON.stringify(source.key)) return;
  throw new ConfigError(
    'LOAD_KEY_UNCHECKED',
    `run ${id} was published with another source.key, and load.mode: merge needs it`,
    {
      hint: `foliopipe publish ${id} checks the new key and writes the output again; then: foliopipe load ${id}`,
      facts: { run: id },
    },
  );
}
