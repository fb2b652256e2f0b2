/** Checks that a run has reached a certain step. The error says what is missing and what to do next. */
import type { Checkpoint, Tally } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { FoliopipeError, TroubleError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { abandonCommand, adoptHints } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';
import { presentTexts } from '../../text.js';
import { createReplyBreaker } from '../submit/check-replies.js';
import { hasUnreadableReply, unreadableHint } from '../submit/unreadable-replies.js';

type CompletenessNeeds = Pick<RunContext, 'id' | 'deferred' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'run' | 'tally' | 'chunksIn' | 'attempts' | 'doubtsInRow'>;
};

/** @throws TroubleError when a chunk has no folio: after an outage, or because its upload is ambiguous. */
export async function checkAllSubmitted(run: CompletenessNeeds): Promise<void> {
  await expectNone(run, ({ cut, uploading, ambiguous }) => cut + uploading + ambiguous);
}

/**
 * For a chain of stages that does not end with publish-output. After an outage or `poll.timeout`, stages skip chunks:
 * the rows of these chunks and of all later ones are then missing.
 * @throws the deferred error, or TroubleError when a chunk is not downloaded.
 */
export async function checkAllDownloaded(run: CompletenessNeeds): Promise<void> {
  if (run.deferred.error !== undefined) throw run.deferred.error;
  await expectNone(
    run,
    ({ cut, uploading, ambiguous, submitted, finished }) =>
      cut + uploading + ambiguous + submitted + finished,
  );
}

/** @throws the deferred error, or TroubleError, when not every record of the source is in the work file. */
export async function checkAllMerged(run: CompletenessNeeds & Pick<RunContext, 'source'>): Promise<void> {
  if (!(await isAllMerged(run))) throw await incompleteError(run);
}

/**
 * For a command that does not ask the service.
 * @throws TroubleError `CHUNKS_MISSING` when folios are not collected. Other missing chunks are checked for later.
 */
export async function checkAllCollected({
  id: run,
  checkpoint,
}: Pick<CompletenessNeeds, 'id' | 'checkpoint'>): Promise<void> {
  const { chunks } = await checkpoint.tally(run);
  const open = chunks.submitted + chunks.finished;
  if (open > 0) throw uncollectedError(run, open, chunks.cut + chunks.uploading);
}

const WHO_SUBMITS = 'foliopipe submit only submits; collect and publish submit nothing';

function uncollectedError(run: string, open: number, unsent: number): TroubleError {
  const also = unsent > 0 ? `, and ${countOf(unsent, 'chunk')} ${isOrAre(unsent)} not submitted` : '';
  return new TroubleError(
    'CHUNKS_MISSING',
    `run ${run}: ${countOf(open, 'chunk')} ${isOrAre(open)} not collected yet${also}`,
    {
      hint:
        unsent > 0
          ? `foliopipe run submits the rest, collects all and publishes; ${WHO_SUBMITS}`
          : 'foliopipe run or foliopipe collect waits for them and publishes; nothing is paid again',
      facts: { run, open, unsent },
    },
  );
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

async function expectNone(run: CompletenessNeeds, left: (chunks: Tally['chunks']) => number): Promise<void> {
  const tally = await run.checkpoint.tally(run.id);
  const row = await run.checkpoint.run(run.id);
  if (left(tally.chunks) === 0 && row?.chunks != null) return;
  const { reason: stopped } = run.signal;
  // The missing chunks are no error: nothing waited for them, because a stage of the embedding program ended early.
  if (stopped instanceof FoliopipeError) throw run.deferred.error ?? stopped;
  throw await incompleteError(run);
}

/** The error of an incomplete run: the deferred one; else it names ambiguous chunks, or open folios, or unsent chunks. */
export async function incompleteError({
  id: run,
  checkpoint,
  deferred,
}: Pick<CompletenessNeeds, 'id' | 'checkpoint' | 'deferred'>): Promise<FoliopipeError> {
  if (deferred.error !== undefined) return deferred.error;
  const chunks = (await checkpoint.run(run))?.chunks ?? null;
  const tally = await checkpoint.tally(run);
  const { submitted, finished, ambiguous, cut, uploading } = tally.chunks;
  const facts = { run, chunks, merged: tally.merged.chunks };
  if (ambiguous > 0) {
    return new TroubleError(
      'CHUNKS_AMBIGUOUS',
      `run ${run}: it is not known whether the service accepted ${countOf(ambiguous, 'chunk')}`,
      {
        hint: await ambiguousHint({ id: run, checkpoint }, tally),
        facts: { ...facts, ambiguous },
      },
    );
  }
  if (submitted > 0) {
    return new TroubleError(
      'FOLIOS_TIMED_OUT',
      `run ${run}: ${countOf(submitted, 'folio')} ${submitted === 1 ? 'was' : 'were'} not finished within poll.timeout`,
      {
        hint: `run the same command again to wait for them; nothing is paid again; ${await abandonHint({ id: run, checkpoint })}`,
        facts: { ...facts, submitted },
      },
    );
  }
  const unsent = cut + uploading;
  if (finished > 0 && unsent === 0 && chunks !== null) return uncollectedError(run, finished, 0);
  const missing = presentTexts([
    unsent > 0 && `${countOf(unsent, 'chunk')} ${isOrAre(unsent)} not submitted`,
    chunks === null && 'the end of the source is not cut into chunks yet',
  ]);
  if (missing.length === 0) {
    const text = `run ${run}: all chunks are answered, but only ${countOf(tally.merged.records, 'record')} can be merged`;
    return new TroubleError('CHUNKS_MISSING', text, { hint: UNMERGED, facts });
  }
  return new TroubleError('CHUNKS_MISSING', `run ${run}: ${missing.join(', and ')}`, {
    hint: `foliopipe run submits the rest and goes on; ${WHO_SUBMITS}`,
    facts,
  });
}

const UNMERGED =
  'run the same command again; if it ends in the same way, that is a bug in foliopipe: please report it, with the state folder';

/** Names the command that gives up the first open folio, and what that means. */
async function abandonHint({
  id,
  checkpoint,
}: Pick<CompletenessNeeds, 'id' | 'checkpoint'>): Promise<string> {
  const [first] = await checkpoint.chunksIn(id, ['submitted'], 0, 1);
  const { number, folio, records } = first!;
  return `to end the run without folio ${folio} and its ${countOf(records, 'record')}: ${abandonCommand(id, number)}`;
}

/** Says what the next run does with the ambiguous chunks, and what a person can do before that. */
async function ambiguousHint(
  run: Pick<CompletenessNeeds, 'id' | 'checkpoint'>,
  { uploads }: Pick<Tally, 'uploads'>,
): Promise<string> {
  const inRow = await run.checkpoint.doubtsInRow(run.id, 'unreadable');
  if (uploads.accepted === 0 && createReplyBreaker(inRow).isOpen) {
    return unreadableHint(run.checkpoint, run.id);
  }
  const again = 'once more, which may pay twice, or gives them up under ambiguous.policy: hold';
  const next = (await isAnyUnreadable(run))
    ? `gives up those whose reply could not be read, and sends the others ${again}`
    : `sends them ${again}`;
  return `${await adoptHints(run.checkpoint, run.id)}; without that, foliopipe run ${next}`;
}

async function isAnyUnreadable(run: Pick<CompletenessNeeds, 'id' | 'checkpoint'>): Promise<boolean> {
  for await (const { number } of eachChunk(run.checkpoint, run.id, ['ambiguous'])) {
    if (await hasUnreadableReply(run.checkpoint, run.id, number)) return true;
  }
  return false;
}

/** Whether the source is cut to its end and all its records are in the work file. */
export async function isAllMerged(
  run: Pick<RunContext, 'id' | 'source'> & { readonly checkpoint: Pick<Checkpoint, 'run' | 'tally'> },
): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  const { merged } = await run.checkpoint.tally(run.id);
  return row.chunks !== null && merged.records === run.source.records - run.source.rejected;
}

/** Whether the source is cut to its end and all its chunks are answered. Chunks of rounds do not count. */
export async function isSourceAnswered(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'run' | 'chunksIn'> },
): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.chunks === null) return false;
  const states = ['cut', 'uploading', 'ambiguous', 'submitted', 'finished'] as const;
  for await (const { round } of eachChunk(run.checkpoint, run.id, states)) if (round === 0) return false;
  return true;
}
