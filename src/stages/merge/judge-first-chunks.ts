/**
 * Judges the first downloaded chunks, before more is paid for: do they prove which result belongs to which record?
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { UntrustedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { lookAtJoined } from './join-chunk.js';
import type { JoinChunksNeeds } from './merge-needs.js';

export type JudgeFirstChunksNeeds = JoinChunksNeeds &
  Pick<RunContext, 'deferred' | 'uploads'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn'>;
  };

/**
 * If a chunk does not pass, the run uploads no more chunks and ends with the chunk's error; open folios are still
 * collected. The error is not stored: a later process finds the same chunk on the disk and judges it again.
 * @returns the error of a chunk that did not pass; undefined while all pass.
 * @throws OutageError when parts must be fetched again and the service does not answer.
 */
export function judgeFirstChunks(run: JudgeFirstChunksNeeds): Promise<UntrustedError | undefined> {
  const { join } = run;
  // Two stages call this. Their calls run one after the other, so that each chunk is judged once.
  const judged = join.judging.then((refusal) => refusal ?? judgeNext(run));
  join.judging = judged.catch(() => undefined);
  return judged;
}

async function judgeNext(run: JudgeFirstChunksNeeds): Promise<UntrustedError | undefined> {
  const { join } = run;
  if (isDecided(run)) return undefined;
  try {
    for await (const chunk of eachChunk(run.checkpoint, run.id, ['downloaded'], maxChunks)) {
      if (isDecided(run)) break;
      if (join.judged.has(chunk.number)) continue;
      await lookAtJoined(run, chunk, () => undefined);
      join.judged.add(chunk.number);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof UntrustedError)) throw error;
    run.logger.warn(
      { code: error.code, ...error.facts },
      `${error.message}; nothing more is uploaded, and what was sent already continues`,
    );
    run.uploads.stopped = true;
    // Replaces any other deferred error: an outage may pass by itself, this error does not.
    run.deferred.error = error;
    return error;
  }
}

/** If this many chunks prove nothing, for example because each has a single record, only the merge judges. */
const maxChunks = 16;

function isDecided({ join }: JudgeFirstChunksNeeds): boolean {
  return join.method?.judged?.isProven === true || join.judged.size >= maxChunks;
}
