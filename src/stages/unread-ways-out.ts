/** What a person can do where no reply to an upload of a run could ever be read. */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { adoptHints } from '../report/adoptable.js';
import type { RunContext } from '../run-context.js';

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
