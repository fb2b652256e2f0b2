/** Takes answers out of a segment: writes it again without them. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { ConfigError } from '../../errors.js';
import type { AnswerStore, Unwanted } from '../../reuse/answer-store.js';
import type { Segment } from '../../types.js';

/** What a segment has lost, and how many answers are left in it. */
export interface DroppedAnswers {
  readonly run: string;
  readonly successful: number;
  readonly failed: number;
  readonly left: number;
}

/**
 * Commits the row of the new file, and then removes the old file.
 * @param now epoch milliseconds; makes the name of the new file.
 * @returns undefined if the segment holds none of the answers.
 */
export async function dropAnswers(
  {
    checkpoint,
    answers,
  }: {
    readonly checkpoint: Pick<Checkpoint, 'recordSegment' | 'recordSegmentsForgotten'>;
    readonly answers: Pick<AnswerStore, 'rewriteSegment' | 'removeSegment'>;
  },
  segment: Segment,
  unwanted: Unwanted,
  now: number,
): Promise<DroppedAnswers | undefined> {
  const { run, successful, failed } = segment;
  try {
    const rewritten = await answers.rewriteSegment(segment, nextSegmentId(segment, now), unwanted);
    if (rewritten === undefined) return undefined;
    const { dropped, segment: row } = rewritten;
    await checkpoint.recordSegment(row);
    await answers.removeSegment(segment.id);
    return { run, ...dropped, left: row.successful + row.failed };
  } catch (error) {
    // Without the secret no answer can be found and no segment can be written: this one is removed.
    const isUseless = error instanceof ConfigError && error.code === 'REUSE_SECRET_LOST' && 'all' in unwanted;
    if (!isUseless) throw error;
    await checkpoint.recordSegmentsForgotten([segment.id]);
    await answers.removeSegment(segment.id);
    return { run, successful, failed, left: 0 };
  }
}

/** The id of a segment ends with a number that increases: of two processes that write at once, each takes its own. */
function nextSegmentId({ id, run }: Segment, now: number): string {
  return `${run}-${Math.max(Number(id.slice(run.length + 1)) + 1, now)}`;
}
