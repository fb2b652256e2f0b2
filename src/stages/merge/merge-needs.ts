/** The parts of a run that merging needs, for the files of this folder and for other stages that use them. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';

/** Needed to join downloaded chunks to their records. */
export type JoinChunksNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'files' | 'join' | 'logger' | 'signal' | 'chosen' | 'keepsChunks' | 'refetch'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    | 'chunk'
    | 'lastStretch'
    | 'parts'
    | 'pickedRecords'
    | 'recordJoin'
    | 'recordUnmerged'
    | 'recordUnprocessed'
    | 'tally'
  >;
};

/**
 * Needed to write the rows of chunks: also the answers of rounds and searches, and the columns that the service adds.
 */
export type MergeChunksNeeds = JoinChunksNeeds &
  Pick<RunContext, 'at' | 'answers'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'knownColumns' | 'nextChunk' | 'recordColumns' | 'run' | 'searches'
    >;
  };
