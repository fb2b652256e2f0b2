/** Replies to uploads that only the journal could record: the next start takes them up into the database. */
import type { Checkpoint, ChunkRow } from '../checkpoint.js';
import { eachChunk } from '../walk-run.js';
import type { FolioLine, JournalLine } from './journal-line.js';
import { attemptKey } from './journal-summary.js';

/** The database could not record a reply, which is its cause. The journal has it. */
export class OnlyInJournalError extends Error {
  constructor(cause: unknown) {
    super('only the journal could record the reply', { cause });
    this.name = 'OnlyInJournalError';
  }
}

/**
 * Records the replies whose upload the database knows without an end. Everything else that the database lacks means
 * that it is old or damaged, and is left to the comparison.
 * @param readLines reads all lines of the run's journal.
 */
export async function takeUpReplies(
  checkpoint: Pick<Checkpoint, 'chunksIn' | 'attempts' | 'recordAccepted'>,
  run: string,
  readLines: () => Iterable<JournalLine>,
): Promise<void> {
  const uploading: ChunkRow[] = [];
  for await (const chunk of eachChunk(checkpoint, run, ['uploading'])) uploading.push(chunk);
  if (uploading.length === 0) return;
  const names = new Map<number, string>();
  const replies = new Map<number, FolioLine>();
  for (const line of readLines()) {
    if (line.type === 'intent') names.set(attemptKey(line), line.fileName);
    if (line.type === 'accepted') replies.set(attemptKey(line), line);
  }
  for (const { number: chunk, attempt } of uploading) {
    const reply = replies.get(attemptKey({ chunk, attempt }));
    const upload = (await checkpoint.attempts(run, chunk)).find((one) => one.attempt === attempt);
    if (reply === undefined || upload?.fileName !== names.get(attemptKey({ chunk, attempt }))) continue;
    const { folio, serviceRecords, rehearsal, at } = reply;
    await checkpoint.recordAccepted(run, chunk, { folio, serviceRecords, rehearsal }, at);
  }
}
