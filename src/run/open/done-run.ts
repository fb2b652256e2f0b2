/**
 * Runs that are done or withheld: finds the one that has enriched a source, and checks whether a run can be published or
 * opened again.
 */

import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { isCompleted } from '../../checkpoint/walk-run.js';
import { changedValues, frozenConfig, isOutputValue } from '../../config/frozen-config.js';
import type { Config } from '../../config/schema.js';
import { ConfigError, FoliopipeError, GuardError, SourceError } from '../../errors.js';
import { hasContent } from '../../files/output-store.js';
import { countOf, formatCount } from '../../quantities.js';
import type { RunContext } from '../../run-context.js';
import { STDIN } from '../../spool/copy-stdin.js';
import { keepCopies } from '../../spool/open-source.js';
import { showText } from '../../text.js';
import type { Source } from '../../types.js';
import { type CheckSourceOptions, checkSource } from '../check/check-source.js';
import { type DifferenceContext, differenceText } from '../check/source-difference.js';
import { isRehearsalElsewhere, serviceIdentity, serviceNames } from '../configured-service.js';
import type { BeginRunContext } from './begin-run.js';
import { type GivenUpRun, waysFromChanged } from './given-up-run.js';

/**
 * The run that has done a source, see `pickDoneRun`. Runs from before the service had its name count, too. Runs that a
 * local service has answered at another address do not.
 * @throws ConfigError `RUN_DONE_OTHERWISE`.
 */
export async function findDoneRun(
  checkpoint: Pick<CheckpointReader, 'doneRuns'>,
  config: Config,
  sourceSha256: string,
  frozen: Readonly<Record<string, string>>,
): Promise<Run | undefined> {
  const found: Run[] = [];
  for (const service of serviceNames(config)) {
    found.push(...(await checkpoint.doneRuns(config.pipeline, service, sourceSha256)));
  }
  return pickDoneRun(
    found.filter((run) => !isRehearsalElsewhere(config, run)),
    frozen,
  );
}

/**
 * The newest run that has read and sent the source with the values of the current config. The sizes of its chunks do
 * not matter, nor whether it has sent equal records once or each time.
 * @param done runs whose source had the same content, newest first.
 * @param frozen the current values.
 * @returns undefined if there are no runs.
 * @throws ConfigError `RUN_DONE_OTHERWISE` if all runs have other values.
 */
function pickDoneRun(done: readonly Run[], frozen: Readonly<Record<string, string>>): Run | undefined {
  const current = Object.fromEntries(Object.entries(frozen).filter(([key]) => decidesWhatIsSent(key)));
  const [newest] = done;
  const chosen = done.find((run) => changedValues(run.frozen, current).keys.length === 0);
  if (chosen !== undefined || newest === undefined) return chosen;
  const { keys, lines } = changedValues(newest.frozen, current);
  throw new ConfigError(
    'RUN_DONE_OTHERWISE',
    `run ${newest.id} has done this source with other values:${lines}`,
    {
      hint: 'restore the old values to get its output; foliopipe run --new sends each record again that has no stored answer (reuse.maxAge), and pays for it',
      facts: { run: newest.id, keys: keys.join(', ') },
    },
  );
}

/**
 * `upload.duplicates` decides only how often equal records are sent: their answers are the same. Nor does it matter which
 * query has given the same content.
 */
function decidesWhatIsSent(key: string): boolean {
  if (key === 'upload.duplicates' || key === 'source.query' || isOutputValue(key)) return false;
  return key.startsWith('source.') || key.startsWith('upload.');
}

/**
 * Checks the source of a done run, so that the run's rows can be written again.
 * @param why the reason for writing the rows again.
 * @returns the source with the files as they are now.
 * @throws GuardError `RUN_PRUNED`; ConfigError `RUN_DONE_OTHERWISE`; SourceError when the source has changed.
 */
export async function checkDoneSource(
  {
    id,
    config,
    checkpoint,
    output,
    files,
    signal,
    copies,
  }: Pick<RunContext, 'id' | 'config' | 'checkpoint' | 'output' | 'files' | 'signal'> &
    Pick<CheckSourceOptions, 'copies'>,
  why: string,
): Promise<Source> {
  const row = (await checkpoint.run(id))!;
  if (row.prunedAt !== null) throw prunedError(row, why);
  pickDoneRun([row], frozenConfig(config, row.service));
  const source = await checkAgain({ config, output, signal }, row, { copies });
  if (source.sha256 !== row.source.sha256)
    throw await sourceChangedError({ config, checkpoint, files, signal }, row, source);
  if (source !== row.source) await checkpoint.recordSourceStamp(id, source);
  return source;
}

/**
 * Whether a done run can be opened again: no other run of the pipeline is open, the source and the frozen values are
 * unchanged, and the file at the output's path, if any, is the publication of a done run. Called before the run is
 * opened, because an open run that cannot go on would block its pipeline.
 */
export async function canReopen({
  id,
  config,
  checkpoint,
  output,
  signal,
  copies,
}: Pick<RunContext, 'id' | 'config' | 'checkpoint' | 'output' | 'signal'> &
  Pick<CheckSourceOptions, 'copies'>): Promise<boolean> {
  const run = (await checkpoint.run(id))!;
  if ((await checkpoint.unfinishedRun(config.pipeline, run.source.limit)) !== undefined) return false;
  if (changedValues(run.frozen, frozenConfig(config, serviceIdentity(config))).keys.length > 0) return false;
  const found = run.publication !== null ? await output.identity(config.output.path) : undefined;
  if (found !== undefined && !(run.publication && (await hasContent(found, run.publication)))) return false;
  try {
    const source = await checkAgain({ config, output, signal }, run, { copies });
    return source.sha256 === run.source.sha256;
  } catch (error) {
    if (error instanceof FoliopipeError) return false;
    throw error;
  }
}

/**
 * Checks the source of a run that has begun; if the run has read a copy of it, that copy. A run of an older version has
 * sent the blank records, and skips none.
 */
export async function checkAgain(
  context: Parameters<typeof checkSource>[0],
  run: Run,
  options: CheckSourceOptions,
): Promise<Source> {
  const checking = { ...options, kept: run, limit: run.source.limit };
  return asBegun(run, await checkSource(context, checking, false, run));
}

/** A done run with the files that hold its source now; other files may have the same content. */
export async function withCurrentFiles(
  { config, checkpoint, copies }: Pick<BeginRunContext, 'config' | 'checkpoint' | 'copies'>,
  run: Run,
  found: Source,
): Promise<Run> {
  const source = asBegun(run, found);
  await keepCopies(config, copies, source);
  if (JSON.stringify(run.source) === JSON.stringify(source)) return run;
  await checkpoint.recordSourceStamp(run.id, source);
  return { ...run, source };
}

/** The source as it was found now, with as many skipped records as the run has. */
export function asBegun(run: Run, found: Source): Source {
  if (found.blank === run.source.blank) return found;
  const { blank: _, ...source } = found;
  return run.source.blank === undefined ? source : { ...source, blank: run.source.blank };
}

/**
 * The error for a run whose results were removed.
 * @param why the reason why the results are needed.
 */
export function prunedError({ id, prunedAt }: Run, why?: string): GuardError {
  const day = new Date(prunedAt!).toISOString().slice(0, 10);
  return new GuardError(
    'RUN_PRUNED',
    `the results of run ${id} were removed on ${day} (retention.results, or runs prune)${why === undefined ? '' : `, and ${why}`}`,
    {
      hint: 'what it has cost is in foliopipe ledger; foliopipe run --new sends each record again that has no stored answer (reuse.maxAge), and pays for it',
      facts: { run: id },
    },
  );
}

/**
 * The error for a run whose source has changed.
 * @param givenUp what a new run would give up of an unfinished run.
 */
export async function sourceChangedError(
  context: DifferenceContext,
  run: Run,
  now: Source,
  givenUp?: GivenUpRun,
): Promise<SourceError> {
  const { id, source } = run;
  const isDone = isCompleted(run);
  const change =
    source.records === now.records
      ? `its source has other content now (${countOf(now.records, 'record')} then and now)`
      : `its source is no longer the same: ${countOf(source.records, 'record')} then, ${formatCount(now.records)} now`;
  const how = await differenceText(context, run, now);
  return new SourceError(
    'SOURCE_CHANGED',
    `run ${id} is ${isDone ? run.state : 'unfinished'}, and ${change}${how}`,
    {
      hint: isDone
        ? `publish, retry and adopt of run ${id} need the source that it has read: ${wayBack(source, now)}; foliopipe run begins a run with the new file`
        : waysFromChanged(id, givenUp, source),
      facts: { run: id, before: source.sha256, now: now.sha256 },
    },
  );
}

/** How the first file that has changed is given again as the run has read it. */
function wayBack({ files }: Source, now: Source): string {
  const file = files.find(({ sha256 }, at) => now.files[at]?.sha256 !== sha256) ?? files[0]!;
  if (file.name === STDIN && now.files[0]?.name !== STDIN)
    return 'it was standard input, whose copy is read if you add --source -';
  return `put it back (${showText(file.name ?? file.path, 200)} with ${file.bytes} bytes, sha256 ${file.sha256})`;
}
