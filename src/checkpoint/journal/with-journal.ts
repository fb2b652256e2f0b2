/**
 * The checkpoint with a journal beside it. Law 2 with a second witness: the database commits, then the journal's
 * line is on the disk, then the caller may send. Stages see no difference.
 */
import type { Checkpoint, ChunkRow, PickedRecords, Upload } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import type { JournalLine } from './journal-line.js';
import type { RunJournals } from './run-journals.js';

/** Changes of which a line is kept, without those that stand before a paid request. */
type Noted =
  | 'recordCut'
  | 'recordAllCut'
  | 'recordSplit'
  | 'recordRefused'
  | 'recordAccepted'
  | 'recordDropped'
  | 'recordAmbiguous'
  | 'recordAdopted'
  | 'recordFound'
  | 'recordMixed'
  | 'recordUnprocessed'
  | 'recordSearchEnd'
  | 'recordRoundSettled'
  | 'recordColumns'
  | 'recordUnjoined'
  | 'recordPublishing'
  | 'recordDone'
  | 'recordUnpublished'
  | 'recordReopened'
  | 'recordSuperseded';

/** A checkpoint without a journal. */
type OneWitness = Omit<Checkpoint, 'verifyPaid'>;
type Method<M extends keyof Checkpoint> = Checkpoint[M];
type Result<M extends Noted> = Awaited<ReturnType<Method<M>>>;
/** @param result what the change has given; all of it is committed. */
type LinesOf<M extends Noted> = (
  args: Parameters<Method<M>>,
  result: Result<M>,
) => readonly JournalLine[] | Promise<readonly JournalLine[]>;

/**
 * @param checkpoint every change that it makes has been committed when its promise resolves; closed together with
 *   the journals.
 */
export function withJournal(checkpoint: OneWitness, journals: RunJournals): Checkpoint {
  /** Adds lines after a change that is committed: a journal that cannot be written never undoes it. */
  function noted<M extends Noted>(method: M, linesOf: LinesOf<M>, isPaid = false): Pick<Checkpoint, M> {
    const change = checkpoint[method] as (...args: Parameters<Method<M>>) => Promise<Result<M>>;
    const changeAndNote = async (...args: Parameters<Method<M>>): Promise<Result<M>> => {
      const result = await change(...args);
      for (const line of await linesOf(args, result)) {
        // What is paid for already is in the database: where its line cannot be written, it waits.
        if (isPaid) await journals.keep(args[0], line).catch(() => undefined);
        else journals.note(args[0], line);
      }
      return result;
    };
    return { [method]: changeAndNote } as unknown as Pick<Checkpoint, M>;
  }
  const attemptOf = async (run: string, chunk: number) => (await checkpoint.chunk(run, chunk))!.attempt;

  return {
    ...checkpoint,
    recordRun: async (run) => {
      await checkpoint.recordRun(run);
      journals.rewrite(run.id);
    },
    ...noted('recordCut', ([, { picked }], chunk) => [cutLine(chunk, picked)]),
    ...noted('recordAllCut', () => [{ type: 'all-cut' }]),
    ...noted('recordSplit', ([, chunk, halves], [first, second]) => [
      { type: 'split', chunk },
      cutLine(first, halves[0].picked),
      cutLine(second, halves[1].picked),
    ]),
    ...noted('recordRefused', ([, chunk, refusal]) => [{ type: 'refused', chunk, refusal }]),
    ...noted('recordUnprocessed', ([, chunk, cause]) => [{ type: 'unprocessed', chunk, cause }]),

    recordIntent: async (run, chunk, fileName, at, budget) => {
      const upload = await checkpoint.recordIntent(run, chunk, fileName, at, budget);
      try {
        const { firstRecord, lastRecord, sha256 } = (await checkpoint.chunk(run, chunk))!;
        await journals.keep(run, intentLine(upload, { firstRecord, lastRecord, sha256 }, budget.day));
      } catch (error) {
        await checkpoint.recordDropped(run, chunk, at).then(
          () => journals.note(run, { type: 'dropped', chunk, attempt: upload.attempt, at }),
          // Then it is ambiguous, as what a kill leaves here is.
          () => undefined,
        );
        throw error;
      }
      return upload;
    },
    ...noted(
      'recordAccepted',
      ([, chunk, reply, at], { attempt }) => [{ type: 'accepted', chunk, attempt, ...reply, at }],
      true,
    ),
    ...noted('recordDropped', async ([run, chunk, at]) => [
      { type: 'dropped', chunk, attempt: await attemptOf(run, chunk), at },
    ]),
    ...noted('recordAmbiguous', async ([run, chunk, at, doubt]) => [
      { type: 'ambiguous', chunk, attempt: await attemptOf(run, chunk), at, doubt },
    ]),
    ...noted(
      'recordAdopted',
      async ([run, chunk, reply, at]) => [
        { type: 'adopted', chunk, attempt: await adoptedAttempt(checkpoint, run, chunk), ...reply, at },
      ],
      true,
    ),

    recordSearchIntent: async (run, record, at, budget) => {
      await checkpoint.recordSearchIntent(run, record, at, budget);
      try {
        await journals.keep(run, { type: 'search', record, at, day: budget.day });
      } catch (error) {
        await checkpoint.recordSearchEnd(run, record, { state: 'dropped' }).then(
          () => journals.note(run, { type: 'searched', record, state: 'dropped', values: null }),
          () => undefined,
        );
        throw error;
      }
    },
    ...noted(
      'recordSearchEnd',
      ([, record, end]) => [
        { type: 'searched', record, state: end.state, values: end.state === 'answered' ? end.values : null },
      ],
      true,
    ),

    ...noted('recordRoundSettled', ([, round]) => [{ type: 'settled', round }]),
    ...noted('recordFound', ([, chunk]) => [{ type: 'found', chunk }]),
    ...noted('recordMixed', () => [{ type: 'mixed' }]),
    ...noted('recordUnjoined', () => [{ type: 'unjoined' }]),
    ...noted('recordColumns', ([, columns, learned]) => [{ type: 'columns', columns, learned }]),
    ...noted('recordPublishing', ([, , frozen], publication) => [
      { type: 'publishing', publication, ...(frozen && { frozen }) },
    ]),
    ...noted('recordDone', ([, at]) => [{ type: 'done', at }], true),
    ...noted('recordUnpublished', () => [{ type: 'unpublished' }]),
    ...noted('recordReopened', () => [{ type: 'reopened' }]),
    ...noted('recordSuperseded', ([, at]) => [{ type: 'superseded', at }]),
    recordPruned: async (run, at) => {
      await checkpoint.recordPruned(run, at);
      // What was found is forgotten there too; what was paid for is not.
      journals.rewrite(run);
    },

    verifyPaid: async (run) => journals.verify(run),
    close: async () => {
      await journals.close();
      await checkpoint.close();
    },
  };
}

function cutLine(chunk: ChunkRow, picked: PickedRecords | null): JournalLine {
  const { number, round, firstRecord, lastRecord, records, start, end, bytes, sha256 } = chunk;
  const span = { firstRecord, lastRecord, records, start, end, bytes, sha256 };
  return { type: 'cut', chunk: number, round, ...span, numbers: picked?.numbers ?? null };
}

function intentLine(
  { chunk, attempt, records, fileName, startedAt }: Upload,
  span: { readonly firstRecord: number; readonly lastRecord: number; readonly sha256: string },
  day: string,
): JournalLine {
  return { type: 'intent', chunk, attempt, ...span, records, fileName, at: startedAt, day };
}

/** The attempt that has the chunk's folio now. */
async function adoptedAttempt(checkpoint: OneWitness, run: string, chunk: number): Promise<number> {
  const { folio } = (await checkpoint.chunk(run, chunk))!;
  const attempts = await checkpoint.attempts(run, chunk);
  const adopted = attempts.findLast((attempt) => attempt.state === 'accepted' && attempt.folio === folio);
  if (adopted === undefined) throw new CheckpointStateError('recordAdopted', `chunk ${chunk} has no folio`);
  return adopted.attempt;
}
