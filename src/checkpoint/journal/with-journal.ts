/**
 * Adds a journal to a checkpoint, as a second record of each paid request (rule "What was bought is kept",
 * docs/architecture.md#what-was-bought-is-kept). First the database commits, then the journal's line is synced to the
 * disk, and only then may the caller send the request. Room for the reply is kept before that. A reply that the database
 * cannot record is in the journal alone. Callers use it like any checkpoint.
 */
import type { Checkpoint, ChunkRow } from '../checkpoint.js';
import { CheckpointStateError, OnlyInJournalError } from '../checkpoint-errors.js';
import { eachChunk } from '../walk-run.js';
import type { Reserve } from './disk-reserve.js';
import { cutLine, type FolioLine, intentLine, type JournalLine } from './journal-line.js';
import { attemptKey } from './journal-summary.js';
import type { RunJournals } from './run-journals.js';

/** The changes of a known run: the first argument of each is its id. */
type ChangeOfRun = Exclude<
  Extract<keyof Checkpoint, `record${string}`>,
  | 'recordRun'
  | 'recordSingleSearchIntent'
  | 'recordSingleSearchEnd'
  | 'recordSegment'
  | 'recordSegmentsForgotten'
  | 'recordOutputUpload'
>;

/** A checkpoint without a journal. */
type CheckpointAlone = Omit<Checkpoint, 'verifyPaid'>;
type Method<M extends keyof Checkpoint> = Checkpoint[M];
type Result<M extends ChangeOfRun> = Awaited<ReturnType<Method<M>>>;
/** Makes the lines for a committed change, from its arguments and its result. */
type LinesOf<M extends ChangeOfRun> = (
  args: Parameters<Method<M>>,
  result: Result<M>,
) => readonly JournalLine[] | Promise<readonly JournalLine[]>;

/**
 * @param checkpoint each of its changes is committed when its promise resolves; closed together with the journals.
 */
export function withJournal(
  checkpoint: CheckpointAlone,
  journals: RunJournals,
  reserve: Reserve,
): Checkpoint {
  /** Wraps a change: adds its lines after the commit. A journal that cannot be written does not undo the change. */
  function journaled<M extends ChangeOfRun>(
    method: M,
    linesOf: LinesOf<M>,
    { isPaid = false, endsRequest = false, endsRun = false } = {},
  ): Pick<Checkpoint, M> {
    const change = checkpoint[method] as (...args: Parameters<Method<M>>) => Promise<Result<M>>;
    const changeAndAppend = async (...args: Parameters<Method<M>>): Promise<Result<M>> => {
      const result = await (endsRequest ? reserve.end(args[0], () => change(...args)) : change(...args));
      for (const line of await linesOf(args, result)) {
        // The request is paid and in the database. A line that cannot be written is written with the next one.
        if (isPaid) await journals.appendDurably(args[0], line).catch(() => undefined);
        else journals.append(args[0], line);
      }
      if (endsRun) reserve.free(args[0]);
      return result;
    };
    return { [method]: changeAndAppend } as unknown as Pick<Checkpoint, M>;
  }
  /**
   * The attempts that this process has begun and that have not ended. When the reply comes, the database may be
   * unreadable too, and the reply belongs in the journal all the same.
   */
  const begun = new Map<string, number>();
  const keyOf = (run: string, chunk: number) => `${run} ${chunk}`;
  /** Called once when an attempt ends. The checkpoint refuses a chunk that has none. */
  const endedAttempt = async (run: string, chunk: number): Promise<number> => {
    const known = begun.get(keyOf(run, chunk));
    begun.delete(keyOf(run, chunk));
    return known ?? (await checkpoint.chunk(run, chunk))?.attempt ?? 0;
  };

  /**
   * Takes back the intent of a request that is not sent, because the journal lacks it. If that fails, the intent stays,
   * and becomes ambiguous at the next start, as after a kill.
   */
  const takeBack = async (run: string, drop: () => Promise<unknown>, line: JournalLine): Promise<void> => {
    await reserve.end(run, drop).then(
      () => journals.append(run, line),
      () => undefined,
    );
  };

  return {
    ...checkpoint,
    recordRun: async (run) => {
      await checkpoint.recordRun(run);
      journals.rewrite(run.id);
    },
    ...journaled('recordCut', ([, { picked }], chunk) => [cutLine(chunk, picked?.numbers ?? null)]),
    ...journaled('recordAllCut', () => [{ type: 'all-cut' }]),
    ...journaled('recordSplit', ([, chunk, halves], [first, second]) => [
      { type: 'split', chunk },
      cutLine(first, halves[0].picked?.numbers ?? null),
      cutLine(second, halves[1].picked?.numbers ?? null),
    ]),
    ...journaled('recordRefused', ([, chunk, refusal]) => [{ type: 'refused', chunk, refusal }]),
    ...journaled('recordUnprocessed', ([, chunk, cause]) => [{ type: 'unprocessed', chunk, cause }]),

    recordIntent: async (run, chunk, fileName, at, budget) => {
      const intend = () => checkpoint.recordIntent(run, chunk, fileName, at, budget);
      const upload = await reserve.begin(run, intend);
      try {
        await journals.appendDurably(run, intentLine(upload, await checkpoint.chunk(run, chunk), budget.day));
      } catch (error) {
        const drop = () => checkpoint.recordDropped(run, chunk, at);
        await takeBack(run, drop, { type: 'dropped', chunk, attempt: upload.attempt, at });
        throw error;
      }
      begun.set(keyOf(run, chunk), upload.attempt);
      return upload;
    },
    recordAccepted: async (run, chunk, reply, at) => {
      const attempt = await endedAttempt(run, chunk);
      const line = { type: 'accepted', chunk, attempt, ...reply, at } as const;
      let accepted: ChunkRow;
      try {
        accepted = await reserve.end(run, () => checkpoint.recordAccepted(run, chunk, reply, at));
      } catch (error) {
        if (error instanceof CheckpointStateError) throw error;
        await journals.appendDurably(run, line).catch(() => {
          throw error;
        });
        throw new OnlyInJournalError(error);
      }
      // A line that cannot be written is written with the next one.
      await journals.appendDurably(run, line).catch(() => undefined);
      return accepted;
    },
    ...journaled(
      'recordDropped',
      async ([run, chunk, at]) => [{ type: 'dropped', chunk, attempt: await endedAttempt(run, chunk), at }],
      { endsRequest: true },
    ),
    ...journaled(
      'recordAmbiguous',
      async ([run, chunk, at, doubt]) => [
        { type: 'ambiguous', chunk, attempt: await endedAttempt(run, chunk), at, doubt },
      ],
      { endsRequest: true },
    ),
    ...journaled(
      'recordAdopted',
      async ([run, chunk, reply, at]) => [
        { ...reply, type: 'adopted', chunk, attempt: await adoptedAttempt(checkpoint, run, chunk), at },
      ],
      { isPaid: true },
    ),

    recordSearchIntent: async (run, record, at, budget) => {
      await reserve.begin(run, () => checkpoint.recordSearchIntent(run, record, at, budget));
      try {
        await journals.appendDurably(run, { type: 'search', record, at, day: budget.day });
      } catch (error) {
        const drop = () => checkpoint.recordSearchEnd(run, record, { state: 'dropped' });
        await takeBack(run, drop, { type: 'searched', record, state: 'dropped', values: null });
        throw error;
      }
    },
    ...journaled(
      'recordSearchEnd',
      ([, record, end]) => [
        { type: 'searched', record, state: end.state, values: end.state === 'answered' ? end.values : null },
      ],
      { isPaid: true, endsRequest: true },
    ),

    recordSingleSearchIntent: async (search, budget) => {
      await checkpoint.recordSingleSearchIntent(search, budget);
      try {
        const { startedAt: at, ...rest } = search;
        await journals.appendSearchDurably({ type: 'single-search', ...rest, at, day: budget.day });
      } catch (error) {
        // If this fails too, the intent stays, and counts as possibly paid.
        await checkpoint.recordSingleSearchEnd(search.id, { state: 'dropped' }).catch(() => undefined);
        throw error;
      }
    },
    recordSingleSearchEnd: async (id, end) => {
      await checkpoint.recordSingleSearchEnd(id, end);
      const local = end.state === 'answered' ? end.local : null;
      // Without its line, the search counts as possibly paid after a recovery.
      await journals
        .appendSearchDurably({ type: 'single-searched', id, state: end.state, local })
        .catch(() => undefined);
    },

    ...journaled('recordRoundClosed', ([, round]) => [{ type: 'settled', round }]),
    ...journaled('recordFound', ([, chunk]) => [{ type: 'found', chunk }]),
    ...journaled('recordMixed', () => [{ type: 'mixed' }]),
    ...journaled('recordUnjoined', () => [{ type: 'unjoined' }]),
    ...journaled('recordColumns', ([, columns, learned]) => [{ type: 'columns', columns, learned }]),
    ...journaled('recordColumnsAdded', ([, columns]) => [{ type: 'columns', columns, learned: true }]),
    ...journaled('recordPublishing', ([, , frozen], publication) => [
      { type: 'publishing', publication, ...(frozen && { frozen }) },
    ]),
    ...journaled('recordDone', ([, at]) => [{ type: 'done', at }], { isPaid: true, endsRun: true }),
    ...journaled('recordWithheld', ([, withheld, at]) => [{ type: 'withheld', withheld, at }], {
      isPaid: true,
      endsRun: true,
    }),
    ...journaled('recordConfirmed', ([, confirmed, at]) => [{ type: 'confirmed', confirmed, at }], {
      isPaid: true,
      endsRun: true,
    }),
    ...journaled('recordUnpublished', () => [{ type: 'unpublished' }]),
    ...journaled('recordReopened', () => [{ type: 'reopened' }]),
    ...journaled('recordSuperseded', ([, at]) => [{ type: 'superseded', at }], { endsRun: true }),
    recordPruned: async (run, at) => {
      await checkpoint.recordPruned(run, at);
      // The new journal has no results either, but still has all paid requests.
      journals.rewrite(run);
    },

    verifyPaid: async (run) => {
      await takeUpReplies(checkpoint, run, () => journals.lines(run));
      return journals.verify(run);
    },
    close: async () => {
      reserve.close();
      await journals.close();
      await checkpoint.close();
    },
  };
}

/** The attempt that has the chunk's folio. */
async function adoptedAttempt(checkpoint: CheckpointAlone, run: string, chunk: number): Promise<number> {
  const { folio } = (await checkpoint.chunk(run, chunk))!;
  const attempts = await checkpoint.attempts(run, chunk);
  const adopted = attempts.findLast((attempt) => attempt.state === 'accepted' && attempt.folio === folio);
  if (adopted === undefined) throw new CheckpointStateError('recordAdopted', `chunk ${chunk} has no folio`);
  return adopted.attempt;
}

/**
 * Records the replies that only the journal has, to uploads that have not ended in the database. If the database lacks
 * anything else, it is old or damaged: the comparison reports that.
 * @param readLines reads all lines of the run's journal.
 */
async function takeUpReplies(
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
