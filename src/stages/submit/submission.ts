/** The part of a run that submit-chunks needs. The files of this folder that do its steps take the same type. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import type { JudgeFirstChunksNeeds } from '../merge/judge-first-chunks.js';

export type SubmitChunksNeeds = JudgeFirstChunksNeeds &
  Pick<RunContext, 'api' | 'at' | 'clock' | 'controller' | 'files' | 'folioPermits' | 'logger'> & {
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
