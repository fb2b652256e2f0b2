/** What copying a state takes and gives. */
import type { TableSum } from '../../checkpoint/copy/copy-rows.js';
import type { LockHolder } from '../../checkpoint/pipeline-lock.js';
import type { StateContext } from '../open/open-state.js';
import type { CopiedFiles } from './copy-files.js';

/** What was copied. Every row and every file was compared with what it was copied from. */
export interface CopiedState {
  /** As they may be shown. */
  readonly from: string;
  readonly to: string;
  readonly tables: readonly TableSum[];
  /** Stored parts; lost ones are fetched from the service again, at no cost. */
  readonly parts: CopiedFiles;
  /** Stored answers, choices, what deltas need, and the copies of sources that unfinished runs read. */
  readonly answers: CopiedFiles;
}

/** What both ways of copying need. */
export interface CopyContext extends StateContext {
  readonly pipeline: string;
  readonly holder: LockHolder;
  /** Epoch milliseconds. */
  readonly now: number;
}
