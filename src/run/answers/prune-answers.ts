/** Removes stored answers that are too old to be taken, and what interrupted processes have left. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import type { AnswerStore } from '../../reuse/answer-store.js';
import type { Segment } from '../../types.js';
import { isUsable } from '../choose-records.js';
import { IMPORT, isExpired } from './show-answers.js';

export interface PruneAnswersContext {
  readonly checkpoint: Pick<Checkpoint, 'segments' | 'runs' | 'recordSegmentsForgotten'>;
  readonly answers: Pick<AnswerStore, 'removeSegment' | 'removeLeftovers'>;
  readonly config: Config;
}

export interface PruneAnswersTerms {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
}

/**
 * Removes the segments in which every answer is too old: those that runs of this pipeline have bought, and the imports
 * that count for it. Segments of another epoch stay until then, because new answers are compared with them. Without
 * `reuse.maxAge` nothing is too old. The rows go first; files that a kill leaves go with the next prune.
 * @returns the removed segments.
 */
export async function pruneAnswers(
  { checkpoint, answers, config }: PruneAnswersContext,
  { now, dryRun = false }: PruneAnswersTerms,
): Promise<readonly Segment[]> {
  const own = new Set((await checkpoint.runs(config.pipeline)).map(({ id }) => id));
  const isOurs = (segment: Segment) =>
    own.has(segment.run) || (segment.run.startsWith(IMPORT) && isUsable(segment, config));
  const expired =
    config.reuse.maxAge === 0
      ? []
      : (await checkpoint.segments()).filter(
          (segment) => isOurs(segment) && isExpired(segment, config.reuse, now),
        );
  if (dryRun) return expired;
  if (expired.length > 0) await checkpoint.recordSegmentsForgotten(expired.map(({ id }) => id));
  for (const { id } of expired) await answers.removeSegment(id);
  await removeLeftovers(checkpoint, answers);
  return expired;
}

async function removeLeftovers(
  checkpoint: PruneAnswersContext['checkpoint'],
  answers: PruneAnswersContext['answers'],
): Promise<void> {
  const segments = (await checkpoint.segments()).map(({ id }) => id);
  const runs = (await checkpoint.runs()).filter(
    ({ choice, prunedAt }) => choice !== null && prunedAt === null,
  );
  await answers.removeLeftovers({
    segments: new Set(segments),
    runs: new Set(runs.map(({ id }) => id)),
  });
}
