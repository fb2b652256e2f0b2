/**
 * Chunks and records whose upload had an unreadable reply. The service probably has them, so they are never sent again
 * automatically, neither as the same chunk nor in a later round (rule "Paid requests are not retried blindly",
 * docs/architecture.md#paid-requests-are-not-retried-blindly). A later round also leaves out what the config holds.
 */
import type { CheckpointReader } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import type { Config } from '../../config/schema.js';
import { adoptHints, newRunCommandFor } from '../../report/adoptable.js';

/** Whether an upload of the chunk had an unreadable reply, and its folio was not found since then. */
export async function hasUnreadableReply(
  checkpoint: Pick<CheckpointReader, 'attempts'>,
  run: string,
  chunk: number,
): Promise<boolean> {
  const attempts = await checkpoint.attempts(run, chunk);
  return attempts.some(({ doubt }) => doubt === 'unreadable');
}

/**
 * The numbers of failed records that the service may have from an earlier round, and that are not sent once more: the
 * reply could not be read, or the config allows no other upload that may be paid for twice.
 */
export async function heldRecords(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'pickedRecords' | 'attempts' | 'tally'>,
  run: string,
  { policy, maxRecords }: Config['ambiguous'],
): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>();
  const { ambiguousRecords } = await checkpoint.tally(run);
  const maySend = policy === 'resubmit' && ambiguousRecords <= maxRecords;
  for await (const { number, round, cause } of eachChunk(checkpoint, run, ['unprocessed'])) {
    if (round === 0 || cause !== 'AMBIGUOUS_HELD') continue;
    if (maySend && !(await hasUnreadableReply(checkpoint, run, number))) continue;
    for (const record of (await checkpoint.pickedRecords(run, number)) ?? []) numbers.add(record);
  }
  return numbers;
}

/** The hint for a run whose replies to uploads are all unreadable, without a capital or a full stop. */
export async function unreadableHint(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'run' | 'tally' | 'attempts'>,
  run: string,
): Promise<string> {
  const isLeft = await hasUnsentChunks(checkpoint, run);
  const once = isLeft ? ' once all else is sent' : '';
  const trial = isLeft
    ? ';\nthe same command sends at most one chunk more, to see whether its reply can be read'
    : '';
  return `each file may be accepted and paid for, and is not sent again;
check what answers at service.baseUrl, and ask the service provider;
${await adoptHints(checkpoint, run)};
to publish without them${once}: foliopipe run --set ambiguous.policy=hold;
to begin anew, which pays again: ${await newRunCommandFor(checkpoint, run)}${trial}`;
}

/** Whether the run has records that are not sent yet, cut or not. A chunk in flight counts as sent. */
export async function hasUnsentChunks(
  checkpoint: Pick<CheckpointReader, 'run' | 'tally'>,
  run: string,
): Promise<boolean> {
  if ((await checkpoint.run(run))?.chunks == null) return true;
  return (await checkpoint.tally(run)).chunks.cut > 0;
}
