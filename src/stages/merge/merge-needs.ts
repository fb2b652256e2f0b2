/** What the merge needs of a run, for its own files and for the other stages that use them. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';

/** To join downloaded chunks to their records. */
export type JoinChunksNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'files' | 'join' | 'logger' | 'signal'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'parts' | 'pickedRecords' | 'recordJoin' | 'recordUnmerged' | 'recordUnprocessed' | 'tally'
  >;
};

/** To write the rows of chunks: the answers of rounds and searches too, and the columns that the service adds. */
export type MergeChunksNeeds = JoinChunksNeeds &
  Pick<RunContext, 'at'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'knownColumns' | 'nextChunk' | 'recordColumns' | 'run' | 'searches'
    >;
  };
