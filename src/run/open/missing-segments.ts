/**
 * Makes segments of the answers of earlier runs that have none: runs from before `reuse` was set, and runs that were
 * superseded before they were published.
 */
import type { Checkpoint, CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { isUnfinished } from '../../checkpoint/walk-run.js';
import type { Config } from '../../config/schema.js';
import { FoliopipeError } from '../../errors.js';
import type { FileStore } from '../../files/run-files.js';
import type { Logger } from '../../logger.js';
import { countOf } from '../../quantities.js';
import { type AnswerStore, openLater } from '../../reuse/answer-store.js';
import { chunksFromParts } from '../../stages/merge/chunks-from-parts.js';
import {
  type MakeSegmentNeeds,
  makeSegment,
  removeKeptChunks,
  removeReplaced,
} from '../../stages/publish/keep-answers.js';
import { checkAllFiles } from '../../stages/read-source.js';
import type { Segment } from '../../types.js';
import { serviceNames } from '../configured-service.js';

export interface SegmentContext {
  readonly config: Config;
  readonly checkpoint: Checkpoint;
  readonly answers: AnswerStore;
  readonly files: FileStore;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Looks at runs of all pipelines that have sent the same columns to the same service and keep their results. Where the
 * source of a run has changed and its results do not hold what was sent, its records are bought again.
 * @param unfinished a run that will be superseded.
 * @returns the runs whose answers cannot be reused. `unfinished` is one of them even if some of its answers can be.
 */
export async function makeMissingSegments(
  context: SegmentContext,
  unfinished: Run | undefined,
): Promise<readonly string[]> {
  const { config, checkpoint, logger } = context;
  const lost: string[] = [];
  const partly: string[] = [];
  const known = await checkpoint.segments();
  for (const run of await runsWithoutSegment(checkpoint, config, unfinished)) {
    const replaced = known.find((segment) => segment.run === run.id);
    if (!(await remakeSegment(context, run, replaced))) lost.push(run.id);
    else if (run.id === unfinished?.id && (await isPartlyKept(checkpoint, run))) partly.push(run.id);
  }
  // The same runs are not logged each night. The newest run is logged: it was superseded just now, or is given up.
  const isNewest = async () => {
    const [newest] = await checkpoint.runs(config.pipeline);
    return newest !== undefined && lost.includes(newest.id);
  };
  if (lost.length > 0 && (known.length === 0 || (await isNewest()))) {
    logger.warn(
      { runs: lost },
      `the answers of ${countOf(lost.length, 'earlier run')} cannot be reused, because the source has changed since and the results do not hold what was sent, or because they cannot be joined to their records; an output can be imported: foliopipe reuse import FILE`,
    );
  }
  return [...lost, ...partly];
}

async function isPartlyKept(checkpoint: SegmentContext['checkpoint'], { id }: Run): Promise<boolean> {
  const segment = (await checkpoint.segments()).find(({ run }) => run === id);
  return segment === undefined || lacksAnswers(checkpoint, segment);
}

/**
 * Runs that have ended and may have answers that could be reused, and that are in no segment.
 * @param unfinished a run that will be superseded. It is one of them, too, if it has more answers than its segment.
 */
export async function runsWithoutSegment(
  checkpoint: Pick<CheckpointReader, 'run' | 'runHeads' | 'segments' | 'answered' | 'replyKinds'>,
  config: Config,
  unfinished: Run | undefined,
): Promise<readonly Run[]> {
  const known = new Map((await checkpoint.segments()).map((segment) => [segment.run, segment]));
  const own = unfinished && known.get(unfinished.id);
  if (own !== undefined && (await lacksAnswers(checkpoint, own))) known.delete(own.run);
  const heads = (await checkpoint.runHeads()).filter((run) => {
    const hasEnded = !isUnfinished(run) || run.id === unfinished?.id;
    // A run without a chunk has bought nothing.
    const mayHave = hasEnded && run.prunedAt === null && run.chunks !== 0;
    return mayHave && !known.has(run.id) && serviceNames(config).includes(run.service);
  });
  const runs: Run[] = [];
  for (const { id, rehearsal } of heads) {
    const run = (await checkpoint.run(id))!;
    if (!hasSentSame(run, config) || (await checkpoint.answered(id)).records === 0) continue;
    // If a local service has given some of the replies, it is unknown which answers are real.
    if (!rehearsal || !(await checkpoint.replyKinds(id)).mixed) runs.push(run);
  }
  return runs;
}

/** Whether the run has other answers now than its segment. Never if some were taken out: a new segment would have them. */
async function lacksAnswers(
  checkpoint: Pick<CheckpointReader, 'answered'>,
  { run, successful, failed, takenOut }: Segment,
): Promise<boolean> {
  const answered = await checkpoint.answered(run);
  const isSame = answered.failed === failed && answered.records === successful + failed;
  return takenOut === undefined && !isSame;
}

/**
 * Makes the segment of a run again from its stored results.
 * @param replaced the segment of the run that is lost or damaged.
 * @returns whether there is a segment now.
 */
export async function remakeSegment(
  context: SegmentContext,
  run: Run,
  replaced: Segment | undefined,
): Promise<boolean> {
  const { answers, checkpoint, logger } = context;
  let chosen: MakeSegmentNeeds['chosen'] = null;
  try {
    // What the run has sent is in its chunk files. Its choice is not read, and may be lost.
    chosen = run.choice && openLater(() => answers.openChoice(run.id, run.choice!));
    const stages = await contextOf(context, run, chosen);
    const segment = await makeSegment(stages, replaced, replaced?.of);
    if (segment === undefined) return false;
    // Another process may have replaced the segment meanwhile, such as by one without some of its answers.
    if (!(await checkpoint.recordSegment(segment, replaced?.id))) return true;
    await removeReplaced(context, { segment, replaced: replaced?.id });
    // A run that will be superseded may still go on, and would need its chunk files.
    if (!isUnfinished(run)) await removeKeptChunks({ ...stages, checkpoint });
    const count = countOf(segment.successful + segment.failed, 'answer');
    logger.info({ run: run.id, segment: segment.id }, `${count} of run ${run.id} can be reused now`);
    return true;
  } catch (error) {
    if (!(error instanceof FoliopipeError)) throw error;
    logger.debug(
      { run: run.id, code: error.code },
      `the answers of run ${run.id} cannot be reused: ${error.message}`,
    );
    return false;
  } finally {
    await chosen?.close();
  }
}

/** Whether the run has sent the columns of the config to its service. */
export function hasSentSame({ frozen, service }: Run, config: Config): boolean {
  const columns = JSON.parse(frozen['upload.columns'] ?? '{}') as Config['upload']['columns'];
  return serviceNames(config).includes(service) && areSent(Object.keys(columns), config);
}

/** Whether these are the columns that the config sends, in their order. */
export function areSent(columns: readonly string[], { upload }: Pick<Config, 'upload'>): boolean {
  return columns.join('\n') === Object.keys(upload.columns).join('\n');
}

/**
 * What the stages need of a run that has ended. Its config is today's, with the values that it has frozen. If its
 * source has changed, chunks whose files are gone are made from its results, if they can be.
 */
async function contextOf(
  { config, checkpoint, answers, files, logger, signal }: SegmentContext,
  run: Run,
  chosen: MakeSegmentNeeds['chosen'],
): Promise<MakeSegmentNeeds> {
  const frozen = <T>(key: string, now: T): T => JSON.parse(run.frozen[key] ?? JSON.stringify(now)) as T;
  const { upload, chunks, result } = config;
  const context: MakeSegmentNeeds = {
    id: run.id,
    source: run.source,
    config: {
      ...config,
      upload: {
        ...upload,
        columns: frozen('upload.columns', upload.columns),
        keyColumn: frozen('upload.keyColumn', upload.keyColumn),
      },
      chunks: { ...chunks, maxBytes: frozen('chunks.maxBytes', chunks.maxBytes) },
      result: { ...result, echo: run.join?.judged?.declared ?? null, onChange: 'add' },
    },
    // The join of a run that has ended is not recorded any more.
    checkpoint: { ...checkpoint, recordJoin: async () => undefined },
    answers,
    files: await files.ofRun(run.id),
    chosen,
    refetch: undefined,
    keepsChunks: true,
    join: { method: run.join, judged: new Set(), lacking: new Set(), judging: Promise.resolve(undefined) },
    logger,
    signal,
    at: () => undefined,
  };
  const isUnchanged = await checkAllFiles(context).then(
    () => true,
    () => {
      signal.throwIfAborted();
      return false;
    },
  );
  const fromParts = isUnchanged ? undefined : chunksFromParts(context, run);
  return fromParts === undefined ? context : { ...context, files: fromParts };
}
