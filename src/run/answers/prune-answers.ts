/** Removes stored answers that are too old to be taken, and what interrupted processes have left; takes answers out. */
import type { Checkpoint, RunHead } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import type { AnswerStore, Unwanted } from '../../reuse/answer-store.js';
import type { Choice, Segment } from '../../types.js';
import { isUsable } from '../open/choose-records.js';
import { IMPORT, isExpired } from './show-answers.js';

interface PruneAnswersContext {
  readonly checkpoint: Pick<
    Checkpoint,
    'segments' | 'runHeads' | 'longestAges' | 'recordSegment' | 'recordSegmentsForgotten'
  >;
  readonly answers: Pick<AnswerStore, 'rewriteSegment' | 'removeSegment' | 'removeLeftovers'>;
  readonly config: Config;
}

interface PruneAnswersTerms {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Only report what would be removed. */
  readonly dryRun?: boolean | undefined;
  /** Whether the prune is automatic. It keeps the answers that a retained run would still take (`withAges`). */
  readonly isAutomatic?: boolean | undefined;
}

/**
 * Removes the segments in which every answer is too old: those that runs of this pipeline have bought, and the imports
 * that count for it. Segments of another epoch stay as long, because new answers are compared with them. A run that still
 * has its results keeps an empty segment: otherwise the next run would make the segment again. Rows change first; files
 * that a kill leaves are removed by a later prune.
 * @returns the segments before the change.
 */
export async function pruneAnswers(
  { checkpoint, answers, config }: PruneAnswersContext,
  { now, dryRun = false, isAutomatic = false }: PruneAnswersTerms,
): Promise<readonly Segment[]> {
  const runs = await checkpoint.runHeads();
  const own = new Map(
    runs.filter(({ pipeline }) => pipeline === config.pipeline).map((run) => [run.id, run]),
  );
  const all = config.reuse.maxAge === 0 ? [] : await checkpoint.segments();
  const isOurs = (segment: Segment) =>
    own.has(segment.run) || (segment.run.startsWith(IMPORT) && isUsable(segment, config));
  const expired = all.filter((segment) => isOurs(segment) && isExpired(segment, config.reuse, now));
  const keepsRetained = isAutomatic && expired.length > 0;
  const reuse = keepsRetained ? withAges(config.reuse, await checkpoint.longestAges()) : config.reuse;
  const pruned: Segment[] = [];
  for (const segment of expired) {
    if (!isExpired(segment, reuse, now)) continue;
    const hasResults = own.get(segment.run)?.prunedAt === null;
    if (hasResults && segment.successful + segment.failed === 0) continue;
    pruned.push(segment);
    if (dryRun) continue;
    if (hasResults) await dropAnswers({ checkpoint, answers }, segment, { all: true }, now);
    else {
      await checkpoint.recordSegmentsForgotten([segment.id]);
      await answers.removeSegment(segment.id);
    }
  }
  if (!dryRun) await removeLeftovers(checkpoint, answers, runs);
  return pruned;
}

/**
 * The ages from which answers are too old in an automatic prune. They are never below those of retained runs: a value
 * that was set for one run, or for one pipeline, must not remove what other runs still take.
 */
function withAges(reuse: Config['reuse'], retained: Pick<Choice, 'maxAge' | 'failedAge'>): Config['reuse'] {
  return {
    ...reuse,
    maxAge: Math.max(reuse.maxAge, retained.maxAge),
    failedAge: Math.max(reuse.failedAge, retained.failedAge),
  };
}

async function removeLeftovers(
  checkpoint: PruneAnswersContext['checkpoint'],
  answers: PruneAnswersContext['answers'],
  runs: readonly RunHead[],
): Promise<void> {
  const segments = (await checkpoint.segments()).map(({ id }) => id);
  const choosing = runs.filter(({ hasChoice, prunedAt }) => hasChoice && prunedAt === null);
  await answers.removeLeftovers({
    segments: new Set(segments),
    runs: new Set(choosing.map(({ id }) => id)),
  });
}

/** What a segment has lost, and how many answers are left in it. */
export interface DroppedAnswers {
  readonly run: string;
  readonly successful: number;
  readonly failed: number;
  readonly left: number;
}

/** What `dropAnswers` works on. */
export interface DropAnswersContext {
  readonly checkpoint: Pick<Checkpoint, 'segments' | 'recordSegment' | 'recordSegmentsForgotten'>;
  readonly answers: Pick<AnswerStore, 'rewriteSegment' | 'removeSegment'>;
}

/**
 * Takes answers out of a segment: writes it again without them. Commits the row of the new file, and then removes the
 * old file. Where another process has replaced the segment meanwhile, the answers are taken out of the new one.
 * @param now epoch milliseconds; makes the name of the new file.
 * @returns undefined if the segment holds none of the answers.
 */
export async function dropAnswers(
  stores: DropAnswersContext,
  segment: Segment,
  unwanted: Unwanted,
  now: number,
): Promise<DroppedAnswers | undefined> {
  const { checkpoint, answers } = stores;
  const { run } = segment;
  const id = nextSegmentId(segment, now);
  try {
    const rewritten = await answers.rewriteSegment(segment, id, unwanted);
    if (rewritten === undefined) return undefined;
    const { dropped, segment: row } = rewritten;
    if (await checkpoint.recordSegment(row, segment.id)) {
      await answers.removeSegment(segment.id);
      return { run, ...dropped, left: row.successful + row.failed };
    }
  } catch (error) {
    const isReplaced = (await segmentOf(checkpoint, run))?.id !== segment.id;
    if (!isReplaced) return dropUseless(stores, segment, unwanted, error);
  }
  const found = await segmentOf(checkpoint, run);
  if (found?.id !== id) await answers.removeSegment(id);
  return found && dropAnswers(stores, found, unwanted, now);
}

/** Removes the segment if the secret is lost: without it, no answer can be found and no segment can be written. */
async function dropUseless(
  { checkpoint, answers }: DropAnswersContext,
  { id, run, successful, failed }: Segment,
  unwanted: Unwanted,
  error: unknown,
): Promise<DroppedAnswers> {
  const isUseless = error instanceof ConfigError && error.code === 'REUSE_SECRET_LOST' && 'all' in unwanted;
  if (!isUseless) throw error;
  await checkpoint.recordSegmentsForgotten([id]);
  await answers.removeSegment(id);
  return { run, successful, failed, left: 0 };
}

async function segmentOf(
  checkpoint: DropAnswersContext['checkpoint'],
  run: string,
): Promise<Segment | undefined> {
  return (await checkpoint.segments()).find((one) => one.run === run);
}

/** The id of a segment ends with a number that increases: of two processes that write at once, each takes its own. */
export function nextSegmentId({ id, run }: Segment, now: number): string {
  return `${run}-${Math.max(Number(id.slice(run.length + 1)) + 1, now)}`;
}
