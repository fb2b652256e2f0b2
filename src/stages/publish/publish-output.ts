/**
 * Last stages: `appendMerged` appends merged stretches to the run's work file; `publishOutput` also puts the complete
 * file in place. Invariant: every stretch that the checkpoint calls merged is in the file on the disk. If the file is
 * shorter, the run goes back to the last whole stretch in it.
 */
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../checkpoint/checkpoint-errors.js';
import { TroubleError } from '../../errors.js';
import { isLocalFile, openWorkFile, type WorkFile, workPathOf } from '../../files/work-file.js';
import { createOutputLayout, outputHeader } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import { giveBack } from '../../streams/large-buffers.js';
import type { MergedStretch } from '../merge/merge-stretch.js';
import { lastMerged } from '../merge/whole-chunks.js';
import { checkOneService } from '../submit/check-replies.js';
import { checkAllMerged } from './check-complete.js';
import { hashWorkFile } from './hash-work-file.js';
import { commitPublication, type PutInPlaceNeeds, putInPlace } from './put-in-place.js';
import { warnAddedColumns, warnReusedColumns } from './warn-columns.js';
import { type WithholdNeeds, withholdOutput } from './withhold-output.js';

type AppendMergedNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'at' | 'work' | 'clock' | 'logger' | 'chosen'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'lastStretch' | 'nextChunk' | 'recordColumnsAdded' | 'recordMerged' | 'recordUnmerged' | 'run'
  >;
};

type PublishOutputNeeds = AppendMergedNeeds &
  PutInPlaceNeeds &
  WithholdNeeds &
  Pick<RunContext, 'deferred'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'chunksIn' | 'doubtsInRow' | 'nextStretch' | 'replyKinds' | 'attempts'
    >;
  };

/** Appends merged stretches. Does not check that the run is complete. */
export function appendMerged(
  run: AppendMergedNeeds,
): (stretches: AsyncIterable<MergedStretch>) => Promise<void> {
  return async (stretches) => {
    const layout = createOutputLayout(run.source, run.config.output);
    const work = await openWorkFile(workPath(run), run.work, (size) => mergedLength(run, size));
    let columns: readonly string[] | undefined;
    try {
      for await (const { bytes, columns: wanted, numbers: _, ...stretch } of readAhead(stretches)) {
        if (wanted !== columns) {
          await addColumns(run, work, wanted);
          columns = wanted;
        }
        const { length: before } = work;
        const head = before === 0 ? [outputHeader(layout, columns)] : [];
        const sha256 = await work.append(...head, bytes);
        giveBack(bytes);
        run.at('after-work-write-before-commit');
        const merged = { ...stretch, workEnd: work.length, sha256 };
        await run.checkpoint.recordMerged(run.id, merged, run.clock.now()).catch(async (error: unknown) => {
          const isRefused = error instanceof CheckpointStateError;
          throw isRefused && (await isTakenBack(run, before)) ? takenBackError(run.id) : error;
        });
        run.at('after-merged-before-next');
      }
    } finally {
      await work.close();
    }
  };
}

/**
 * Appends merged stretches, then publishes the output, or withholds it (`failures.onExceeded`).
 * @param isReleased whether the output is published even where `failures.onExceeded` would withhold it.
 * @returns null if the output is withheld.
 * @throws TroubleError when chunks are missing: the run goes on later; UntrustedError when more than one service
 *   has answered.
 */
export function publishOutput(
  run: PublishOutputNeeds,
  isReleased = false,
): (stretches: AsyncIterable<MergedStretch>) => Promise<Publication | null> {
  return async (stretches) => {
    await appendMerged(run)(stretches);
    await checkAllMerged(run);
    await checkOneService(run.checkpoint, run.id);
    run.at('after-last-merge-before-publishing');
    if (!isReleased && (await withholdOutput(run))) return null;
    const publication = await commitWorkFile(run);
    await putInPlace(run, publication, true);
    return publication;
  };
}

/**
 * Adds the columns that the run lacks, and empties the work file: all rows follow once more, with all columns. The
 * stage that writes the file does this, so that no row with the old columns can be recorded after the change.
 */
async function addColumns(run: AppendMergedNeeds, work: WorkFile, wanted: readonly string[]): Promise<void> {
  const before = (await run.checkpoint.run(run.id))!.columns ?? [];
  if (wanted.length === before.length) return;
  warnAddedColumns(run, before, wanted);
  await run.checkpoint.recordColumnsAdded(run.id, wanted);
  run.at('after-columns-added-before-merge');
  await work.empty();
}

/** Reads the file to hash it only if another process wrote a part of it, or something may have changed it. */
async function commitWorkFile(run: PublishOutputNeeds): Promise<Publication> {
  const tally = await run.checkpoint.tally(run.id);
  const path = workPath(run);
  const columns = (await run.checkpoint.run(run.id))!.columns ?? [];
  await warnReusedColumns(run, columns);
  const work = { path, merged: tally.counts, columns, partial: false };
  return commitPublication(run, work, async () => run.work.written?.of(path) ?? hashWorkFile(run, path));
}

/** The path of the work file, in which the output grows until it is published. */
export function workPath(run: Pick<RunContext, 'id' | 'config'>): string {
  return workPathOf(run.config.output.path, run.id, run.config.stateDir);
}

/** Whether the run has a work file: it has begun to write its output and has not published it yet. */
export function hasWorkFile(run: Pick<RunContext, 'id' | 'config'>): Promise<boolean> {
  return isLocalFile(workPath(run));
}

/**
 * The length at which writing goes on: the end of the last merged stretch that is whole in the file. Later stretches
 * become unmerged.
 */
async function mergedLength(run: AppendMergedNeeds, size: number): Promise<number> {
  let last = await run.checkpoint.lastStretch(run.id);
  if (last === undefined) return 0;
  let lost: number | undefined;
  while (last !== undefined && last.workEnd > size) {
    lost = last.firstRecord;
    last = await run.checkpoint.lastStretch(run.id, lost);
  }
  if (lost !== undefined) await run.checkpoint.recordUnmerged(run.id, lost);
  return (await lastMerged(run))?.workEnd ?? 0;
}

/** Whether rows before this length are no longer merged: meanwhile their chunk was fetched again or given up. */
async function isTakenBack({ id, checkpoint }: AppendMergedNeeds, before: number): Promise<boolean> {
  const last = await checkpoint.lastStretch(id);
  const isThere = (await checkpoint.run(id)) !== undefined;
  return isThere && (last?.workEnd ?? 0) < before;
}

function takenBackError(run: string): TroubleError {
  return new TroubleError(
    'ROWS_TAKEN_BACK',
    `run ${run}: a chunk whose rows were written already has other results now, or was given up`,
    {
      hint: 'run the same command again: it writes the rows again from there, and nothing is paid again',
      facts: { run },
    },
  );
}

/**
 * Gives the same items in the same order, and asks for the next item while the consumer works on the current one, so
 * that merging and writing overlap. The source must not change an item after it has given it.
 */
async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = items.next();
    // Avoids an unhandled rejection when the consumer stops early.
    asked.catch(() => undefined);
    return asked;
  };
  let isAtEnd = false;
  try {
    for (let ahead = ask(); ; ) {
      const item = await ahead;
      isAtEnd = item.done === true;
      if (item.done) return;
      ahead = ask();
      yield item.value;
    }
  } finally {
    if (!isAtEnd) await items.return?.();
  }
}
