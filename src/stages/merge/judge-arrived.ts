/**
 * Judges the first chunks that are downloaded, in the order in which they come, before more is paid for: whether what
 * comes back proves which result belongs to which record.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { UntrustedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import type { Refetch } from '../download/with-healing.js';
import { checkBlock, type RecordsOfNeeds, recordsOf } from '../read-source.js';
import { type ChunkJoinerNeeds, createChunkJoiner } from './join-chunk.js';

export type JudgeArrivedNeeds = ChunkJoinerNeeds &
  RecordsOfNeeds &
  Pick<RunContext, 'setbacks' | 'uploads'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn'>;
  };

/**
 * Where a chunk does not pass, the run uploads nothing more and ends with that error; what is open at the service can
 * still be collected. A later process finds the same chunk on the disk and judges it again.
 * @param refetch fetches a chunk's parts anew; without it a damaged part or a failed proof is final.
 * @returns the error, once a chunk has not passed.
 * @throws OutageError when parts must be fetched anew and cannot be.
 */
export function judgeArrived(run: JudgeArrivedNeeds, refetch?: Refetch): Promise<UntrustedError | undefined> {
  const { join } = run;
  // One after the other: two stages ask, and a chunk is judged once.
  const judged = join.judging.then((refusal) => refusal ?? judgeNext(run, refetch));
  join.judging = judged.catch(() => undefined);
  return judged;
}

async function judgeNext(
  run: JudgeArrivedNeeds,
  refetch: Refetch | undefined,
): Promise<UntrustedError | undefined> {
  const { join } = run;
  if (isSettled(run)) return undefined;
  const joiner = createChunkJoiner(run, { refetch });
  try {
    for await (const chunk of eachChunk(run.checkpoint, run.id, ['downloaded'], chunksAtMost)) {
      if (isSettled(run)) break;
      if (join.judged.has(chunk.number)) continue;
      await joiner.join(chunk, () => blockOf(run, chunk));
      join.judged.add(chunk.number);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof UntrustedError)) throw error;
    run.logger.warn(
      { code: error.code, ...error.facts },
      `${error.message}; nothing more is uploaded, and what is sent already goes on`,
    );
    run.uploads.stopped = true;
    // It ends the run whatever else held a chunk back: that would pass.
    run.setbacks.first = error;
    return error;
  }
}

/** Chunks that prove nothing, such as single records, are left to the merge after these. */
const chunksAtMost = 16;

function isSettled({ join }: JudgeArrivedNeeds): boolean {
  return join.method?.judged?.isProven === true || join.judged.size >= chunksAtMost;
}

/** All records of a chunk, read from the source again. */
export async function blockOf(
  run: RecordsOfNeeds & Pick<RunContext, 'source'>,
  chunk: ChunkRow,
): Promise<RecordBlock> {
  const reader = createBlockReader(recordsOf(run, chunk));
  try {
    const block = await reader.take(chunk.records);
    checkBlock(run, chunk, block);
    return block;
  } finally {
    await reader.close();
  }
}
