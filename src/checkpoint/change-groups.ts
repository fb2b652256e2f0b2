/** Changes of the port that belong together: each database makes a group in one file. */
import type { Checkpoint } from './checkpoint.js';

/** From a cut chunk to a submitted one. */
export type UploadChanges = Pick<
  Checkpoint,
  'recordIntent' | 'recordAccepted' | 'recordDropped' | 'recordAmbiguous' | 'recordInterrupted'
>;

/** From a submitted chunk to its end, and the read of the parts that a download expects. */
export type ResultChanges = Pick<
  Checkpoint,
  'recordFinished' | 'recordParts' | 'recordDownloaded' | 'listedParts'
>;
