/** Decides which run a call is about: the unfinished one, the one that is done, or a new one (contract, "A run"). */
import { randomBytes } from 'node:crypto';
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { checkFixedValues, fixedValues } from '../config/fixed-values.js';
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import { removeLocalFile, workPathOf } from '../files/local-file.js';
import type { OutputStore } from '../files/output-store.js';
import type { Logger } from '../logger.js';
import { formatDuration } from '../quantities.js';
import { isJoinedOtherwise } from '../stages/merge/join-chunk.js';
import type { Clock } from '../streams/clock.js';
import type { Source } from '../types.js';
import { checkSource } from './check-source.js';
import { chooseDone, resultsPruned, sourceIsAnother } from './done-run.js';
import { budgetLeft, canaryRecords, holdToBudget } from './guards.js';
import type { RunOptions } from './run-options.js';

export interface FoundRun {
  readonly run: Run;
  /**
   * `publishing`: its output is to be put in place before anything else, whatever source and config are now.
   * `outdated`: its source has changed, and it is to be collected and superseded (`source.onChange`).
   */
  readonly found: 'new' | 'continued' | 'publishing' | 'outdated' | 'done';
}

export interface FindRunNeeds {
  readonly config: Config;
  /** Who answers: results are never reused for another service. */
  readonly service: string;
  readonly checkpoint: Checkpoint;
  readonly output: OutputStore;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * @throws ConfigError when a frozen value differs, or the source was done with other values; SourceError when the
 *   unfinished run's source changed.
 */
export async function findRun(needs: FindRunNeeds, options: RunOptions): Promise<FoundRun> {
  const { config, checkpoint, output, service, signal } = needs;
  const frozen = fixedValues(config, service);
  const unfinished = await checkpoint.unfinishedRun(config.pipeline);
  if (unfinished !== undefined) await verifyPaid(needs, unfinished);
  if (unfinished?.state === 'publishing') {
    needs.logger.info(
      { run: unfinished.id },
      `publishing of run ${unfinished.id} was interrupted and goes on`,
    );
    return { run: unfinished, found: 'publishing' };
  }
  if (options.existing !== undefined) return findExisting(needs, options, options.existing);
  if (unfinished !== undefined && !options.fresh) {
    checkFixedValues(unfinished.frozen, frozen, unfinished.id);
    const source = await checkSource({ config, output, signal }, options, unfinished);
    const changed = source.sha256 !== unfinished.source.sha256;
    if (changed && config.source.onChange === 'supersede') return { run: unfinished, found: 'outdated' };
    return continueRun(needs, unfinished, source);
  }
  const latest = await checkpoint.latestRun(config.pipeline);
  const source = await checkSource({ config, output, signal }, options, sameParsing(latest, frozen));
  if (!options.fresh) {
    const done = chooseDone(await checkpoint.doneRuns(config.pipeline, service, source.sha256), frozen);
    if (done !== undefined) {
      await verifyPaid(needs, done);
      return { run: await withStamps(done, source, checkpoint), found: 'done' };
    }
  }
  const caps = await budgetLeft(checkpoint, config, null, needs.clock.now());
  holdToBudget(caps, source.records - source.rejected, needs.logger);
  if (unfinished !== undefined) await supersede(checkpoint, unfinished, needs.clock.now());
  return beginRun(needs, options, source, frozen);
}

/** A run that is there already: to be collected, or published again. */
async function findExisting(
  needs: FindRunNeeds,
  options: RunOptions,
  which: true | string,
): Promise<FoundRun> {
  const { config, checkpoint, output, service, signal } = needs;
  const run = await (which === true
    ? checkpoint.unfinishedRun(config.pipeline).then((open) => open ?? checkpoint.latestRun(config.pipeline))
    : checkpoint.run(which));
  if (run === undefined || run.pipeline !== config.pipeline || run.state === 'superseded') {
    const what = which === true ? 'no run' : `no run ${which} that is open or done`;
    throw new ConfigError('RUN_UNKNOWN', `pipeline ${config.pipeline} has ${what}`, {
      hint: 'see the runs with: foliopipe runs; begin one with: foliopipe run',
    });
  }
  await verifyPaid(needs, run);
  if (which === true && run.state === 'done') return { run, found: 'done' };
  const frozen = Object.entries(fixedValues(config, service));
  const compared = which === true ? frozen : frozen.filter(([key]) => !key.startsWith('output.'));
  checkFixedValues(run.frozen, Object.fromEntries(compared), run.id);
  if (run.prunedAt !== null) throw resultsPruned(run);
  const source = await checkSource({ config, output, signal }, options, run);
  return continueRun(needs, run, source, which);
}

/**
 * Before anything else is done with a run: nothing is sent on the word of a checkpoint that has lost some of it.
 * @throws ConfigError `CHECKPOINT_BEHIND`, `JOURNAL_DAMAGED`.
 */
async function verifyPaid({ checkpoint, logger }: FindRunNeeds, run: Run): Promise<void> {
  // Of a pruned run there is nothing left to go on with.
  if (run.prunedAt !== null || (await checkpoint.verifyPaid(run.id)) === 'whole') return;
  if ((await checkpoint.lastCut(run.id, 0)) === undefined) return;
  logger.warn(
    { run: run.id },
    `the journal of run ${run.id} was missing or empty; it is written again from the checkpoint`,
  );
}

/** A check is relied on only where the source was read in the same way. */
function sameParsing(run: Run | undefined, frozen: Readonly<Record<string, string>>): Run | undefined {
  const same = Object.keys(frozen)
    .filter((key) => key.startsWith('source.') || key.startsWith('chunks.') || key.startsWith('upload.'))
    .every((key) => run?.frozen[key] === frozen[key]);
  return same ? run : undefined;
}

/** A done run with the files that hold its source now: they may be others than those that it has read. */
async function withStamps(run: Run, source: Source, checkpoint: Checkpoint): Promise<Run> {
  if (JSON.stringify(run.source) === JSON.stringify(source)) return run;
  await checkpoint.recordSourceStamp(run.id, source);
  return { ...run, source };
}

async function continueRun(
  needs: FindRunNeeds,
  run: Run,
  source: Source,
  existing?: RunOptions['existing'],
): Promise<FoundRun> {
  if (source.sha256 !== run.source.sha256) {
    throw sourceIsAnother(run, source);
  }
  if (source !== run.source) await needs.checkpoint.recordSourceStamp(run.id, source);
  if (run.state === 'open' && isJoinedOtherwise(needs.config, run)) {
    needs.logger.info(
      { run: run.id, echo: needs.config.result.echo },
      'result.echo is another one than before: what was bought is joined and written anew',
    );
    await needs.checkpoint.recordUnjoined(run.id);
  } else if (run.state === 'open' && declaresOtherColumns(needs.config, run)) {
    // Its rows are written again from what was bought, under the header that is right now.
    await needs.checkpoint.recordUnmerged(run.id, 1);
  }
  const interrupted = await needs.checkpoint.recordInterrupted(run.id);
  if (run.state === 'open' && typeof existing !== 'string') await tellContinuing(needs, run);
  if (interrupted > 0) {
    needs.logger.warn(
      { run: run.id, chunks: interrupted },
      `${interrupted} uploads were cut off when the last process ended; whether the service accepted them is not known`,
    );
  }
  return { run: (await needs.checkpoint.run(run.id))!, found: 'continued' };
}

function declaresOtherColumns({ result }: Config, { columns }: Run): boolean {
  // Rows that were written while nothing had succeeded have no columns.
  return result.columns.length > 0 && JSON.stringify(result.columns) !== JSON.stringify(columns ?? []);
}

/** A resume is loud: it says which run, how old, and how much of it is left. */
async function tellContinuing({ checkpoint, clock, logger }: FindRunNeeds, run: Run): Promise<void> {
  const { chunks } = await checkpoint.tally(run.id);
  const here = chunks.downloaded + chunks.unprocessed + chunks.refused;
  const cut = Object.values(chunks).reduce((sum, count) => sum + count, 0) - chunks.split;
  const age = formatDuration(clock.now() - run.createdAt);
  const left =
    run.chunks === null
      ? `${cut - here} of the ${cut} chunks cut so far`
      : `${run.chunks - here} of ${run.chunks} chunks`;
  logger.info(
    { run: run.id, chunks: run.chunks, downloaded: here, openFolios: chunks.submitted },
    `continuing run ${run.id} of ${age} ago, ${left} left, ${chunks.submitted} folios open at the service`,
  );
}

async function beginRun(
  needs: FindRunNeeds,
  options: RunOptions,
  source: Source,
  frozen: Readonly<Record<string, string>>,
): Promise<FoundRun> {
  const createdAt = needs.clock.now();
  const id = runId(createdAt);
  await needs.checkpoint.recordRun({
    id,
    pipeline: needs.config.pipeline,
    service: needs.service,
    label: options.label ?? null,
    source,
    frozen,
    canary: await canaryRecords(needs.config, needs.service, source, needs.checkpoint),
    createdAt,
  });
  return { run: (await needs.checkpoint.run(id))!, found: 'new' };
}

/** Sortable by time and unique: `20261121T031002-4f9c1a`. */
function runId(at: number): string {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d+Z/g, '');
  return `${time}-${randomBytes(3).toString('hex')}`;
}

// Gives up an unfinished run for a newer one: what was bought stays, its half-written output does not.

/** @param at epoch milliseconds. */
export async function supersede(
  checkpoint: Pick<Checkpoint, 'recordSuperseded'>,
  run: Pick<Run, 'id' | 'frozen'>,
  at: number,
): Promise<void> {
  await checkpoint.recordSuperseded(run.id, at);
  const output = JSON.parse(run.frozen['output.path'] ?? 'null') as string | null;
  if (output !== null) await removeLocalFile(workPathOf(output, run.id));
}
