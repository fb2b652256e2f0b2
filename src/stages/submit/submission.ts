/** What submit-chunks works with. The files of this folder that do its steps take the same types. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import type { AddItems } from '../../streams/map-concurrent.js';
import type { JudgeFirstChunksNeeds } from '../merge/judge-first-chunks.js';
import type { ReplyBreaker } from './check-replies.js';

/** The part of a run that is needed. */
export type SubmitChunksNeeds = JudgeFirstChunksNeeds &
  Pick<RunContext, 'api' | 'at' | 'clock' | 'controller' | 'files' | 'folioPermits' | 'lock' | 'logger'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      | 'chunk'
      | 'chunksIn'
      | 'doubtsInRow'
      | 'misreadUpload'
      | 'recordAccepted'
      | 'recordAmbiguous'
      | 'recordDropped'
      | 'recordIntent'
      | 'recordRefused'
      | 'recordSplit'
      | 'recordUnprocessed'
      | 'replyKinds'
      | 'run'
      | 'tally'
      | 'attempts'
    >;
  };

/** What the submissions of a run share while this process sends. */
export interface Submission {
  readonly run: SubmitChunksNeeds;
  readonly breaker: ReplyBreaker;
  /** The numbers of the ambiguous chunks that this process has decided about: about each once. */
  readonly decided: Set<number>;
  /** The numbers of the chunks for which this process has logged how their folio is adopted: for each once. */
  readonly warned: Set<number>;
  /** The decision about an ambiguous chunk that runs now, before everything else is sent; undefined if none runs. */
  early: Promise<ChunkRow | undefined> | undefined;
  /** The refusal that is handled now, or was handled last. */
  lastRefusal: Promise<unknown>;
  /** Submits a chunk as soon as it has a permit, see submit-chunks. */
  submit(chunk: ChunkRow, add: AddItems<ChunkRow>): Promise<ChunkRow | undefined>;
}
