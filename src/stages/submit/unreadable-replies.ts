/**
 * Replies to paid requests that cannot be read, in a row. After one, requests go one by one, so that few are at
 * risk; after three none goes any more, for each may be paid for in vain. One that can be read ends the row.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { attemptsOf, eachChunk } from '../../checkpoint/walk-run.js';
import { AmbiguousUploadError } from '../../errors.js';
import { adoptHints } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';

/** So many in a row are no accident. */
const FULL = 3;

export interface ReceiptRow {
  /** How many could not be read since the last that could. */
  readonly length: number;
  readonly isFull: boolean;
  /** Whether another request may be sent. */
  readonly mayGoOn: boolean;
  /** Hands on what becomes of a request, counted before anyone who waits for its end goes on. */
  count<T>(request: Promise<T>): Promise<T>;
}

/** @param length as earlier processes have left it: where it is full, this one may send a single request to see. */
export function createReceiptRow(length: number): ReceiptRow {
  let limit = Math.max(FULL, length + 1);
  return {
    get length() {
      return length;
    },
    get isFull() {
      return length >= FULL;
    },
    get mayGoOn() {
      return length < limit;
    },
    count: async (request) => {
      try {
        const result = await request;
        length = 0;
        limit = FULL;
        return result;
      } catch (error) {
        if (error instanceof AmbiguousUploadError && error.doubt === 'unreadable') length += 1;
        throw error;
      }
    },
  };
}

/** What a person can do where no reply to an upload of a run could ever be read. */
export type UnreadWaysOutNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'uploads' | 'run' | 'tally'>;
};

/** Half a sentence for a hint: what is known of the files, and what to type. */
export async function unreadWaysOut(run: UnreadWaysOutNeeds): Promise<string> {
  const isLeft = await isAnyLeftToSend(run);
  const once = isLeft ? ' once all else is sent' : '';
  const trial = isLeft ? '; the same command sends at most one chunk more to see' : '';
  return `each file may be accepted and paid for, and is not sent again: look what answers at service.baseUrl, and ask the service provider; ${await adoptHints(run.checkpoint, run.id)}; or foliopipe run --set ambiguous.policy=hold, which publishes without them${once}; or foliopipe run --new, which pays again${trial}`;
}

/** Whether the run has a chunk that was not sent, or not yet cut. What is in flight is sent. */
export async function isAnyLeftToSend({ id, checkpoint }: UnreadWaysOutNeeds): Promise<boolean> {
  const { chunks } = await checkpoint.tally(id);
  return chunks.cut > 0 || (await checkpoint.run(id))?.chunks == null;
}

/**
 * What was answered with a reply that could not be read: the service is likely to have it, so it is never sent again
 * by itself, be it as the same chunk or in a later round (law 3).
 */
export type WasUnreadableNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'uploads'>;
};

/** Whether a reply to any upload of the chunk could not be read, unless its folio was found since. */
export async function wasUnreadable({ id, checkpoint }: WasUnreadableNeeds, chunk: number): Promise<boolean> {
  const attempts = await attemptsOf(checkpoint, id, chunk);
  return attempts.some((attempt) => attempt.doubt === 'unreadable');
}

export type UnreadRecordsNeeds = WasUnreadableNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'pickedRecords'>;
};

/** Numbers of the failed records that were sent so in a round. */
export async function unreadRecords(run: UnreadRecordsNeeds): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>();
  for await (const { number, cause } of eachChunk(run.checkpoint, run.id, ['unprocessed'])) {
    if (cause !== 'AMBIGUOUS_HELD' || !(await wasUnreadable(run, number))) continue;
    for (const record of (await run.checkpoint.pickedRecords(run.id, number)) ?? []) numbers.add(record);
  }
  return numbers;
}
