/**
 * Checks the results of the canary: that they belong to its records, that they have the expected columns, and that, among
 * records that were never asked before, the share of failed ones is tolerated. Writes nothing to the output. The columns
 * and the join method that the canary fixes stay fixed for the run.
 */
import { hideToken, type ServiceText } from '../../api/service-text.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import { GuardError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { adoptCommand, adoptHint, findAdoptable, newRunCommandFor } from '../../report/adoptable.js';
import { failureText, isTolerated, raiseToleranceHint } from '../../report/exit-code.js';
import { isFailed } from '../../results/answers.js';
import { countAnswers } from '../../results/row-counts.js';
import { failureTexts } from '../../results/row-writer.js';
import type { RunContext } from '../../run-context.js';
import { showText } from '../../text.js';
import { readChunkBlock } from '../chunk/chunk-content.js';
import { chunksOfCanary } from '../chunk/chunk-records.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import { uploadedColumns } from '../merge/join-chunk.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { createColumnFinder } from '../merge/result-columns.js';
import { incompleteError } from '../publish/check-complete.js';
import { askedBefore } from './find-early-failures.js';

type CheckCanaryNeeds = MergeChunksNeeds &
  Pick<RunContext, 'deferred'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'chunk' | 'nextChunk' | 'run' | 'tally' | 'chunksIn' | 'attempts' | 'doubtsInRow'
    >;
  };

/**
 * @throws GuardError `CANARY_FAILED` when too many records failed, `CANARY_UNANSWERED` when its records were given up;
 *   UntrustedError when the results do not match; TroubleError when the canary has no answer yet.
 */
export async function checkCanary(run: CheckCanaryNeeds): Promise<void> {
  const chunks: ChunkRow[] = [];
  for await (const chunk of chunksOfCanary(run)) chunks.push(chunk);
  await checkAnswered(run, chunks);

  const reasons = new Map<string, number>();
  const sum = { records: 0, failed: 0 };
  const columns = (await createColumnFinder(run, 0)(false)) ?? [];
  const answers = await openChunkAnswers(run, { columns });
  const sentColumns = uploadedColumns(run.config.upload);
  try {
    for (const chunk of chunks) {
      const block = await readChunkBlock(run, chunk);
      const found = await answers.forChunk(chunk, block);
      if (countAnswers(found, block.count).unprocessed > 0)
        throw unansweredError(run.id, chunk, '', await newRunCommandFor(run.checkpoint, run.id));
      const known = await askedBefore(run.chosen, chunk.firstRecord, chunk.lastRecord);
      const reasonOf = failureTexts(found, { columns, sentColumns });
      sum.records += chunk.records - known.size;
      for (let i = 0; i < block.count; i++) {
        if (known.has(block.numbers[i]!) || !isFailed(found, i)) continue;
        sum.failed += 1;
        const reason = reasonOf(i);
        if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
    }
  } finally {
    await answers.close();
  }
  const { tolerate } = run.config.failures;
  if (isTolerated(sum.failed, sum.records, tolerate)) {
    const text = `the canary has passed: ${sum.failed} of ${countOf(sum.records, 'record')} failed`;
    run.logger.info({ run: run.id, ...sum }, text);
    return;
  }
  throw new GuardError(
    'CANARY_FAILED',
    `run ${run.id}: of the canary, ${failureText(sum.failed, sum.records, tolerate)}; ${firstReasons(reasons, hideToken(run.config.service.token))}`,
    {
      hint: raiseToleranceHint(
        run.id,
        sum.failed,
        sum.records,
        await newRunCommandFor(run.checkpoint, run.id),
      ),
      facts: { run: run.id, ...sum, tolerate },
    },
  );
}

async function checkAnswered(run: CheckCanaryNeeds, chunks: readonly ChunkRow[]): Promise<void> {
  const givenUp = chunks.find(({ state }) => state === 'unprocessed');
  if (givenUp !== undefined) {
    throw unansweredError(
      run.id,
      givenUp,
      await firstTry(run, givenUp),
      await newRunCommandFor(run.checkpoint, run.id),
    );
  }
  if (chunks.length > 0 && chunks.every(isAnswered)) return;
  throw await incompleteError(run);
}

/** Begins the hint with what to try first; may be empty. */
async function firstTry(run: CheckCanaryNeeds, { number, folio, cause }: ChunkRow): Promise<string> {
  if (cause === 'FOLIO_ABANDONED') {
    return `if the service has finished it, bind it again: ${adoptCommand(run.id, number, folio!)}, or `;
  }
  const [adoptable] = await findAdoptable(run.checkpoint, run.id, 1);
  return adoptable === undefined ? '' : `${adoptHint(run.id, adoptable)}, or `;
}

function unansweredError(
  run: string,
  { number, folio, cause }: ChunkRow,
  begin: string,
  newRun: string,
): GuardError {
  const what = cause ?? 'FOLIO_LOST';
  const again = what === 'FOLIO_LOST' ? '; the same command asks for the folio once more' : '';
  return new GuardError(
    'CANARY_UNANSWERED',
    `run ${run}: the canary, chunk ${number}, has no answer (${what}${folio === null ? '' : `, folio ${folio}`}), so nothing more is uploaded`,
    {
      hint: `${begin}ask the service provider about it and start a new run, which pays again: ${newRun}${again}`,
      facts: { run, chunk: number, folio, cause: what },
    },
  );
}

/** The first reasons, made safe to print. */
function firstReasons(reasons: ReadonlyMap<string, number>, hide: ServiceText): string {
  if (reasons.size === 0) return 'the service gives no reasons';
  const shown = [...reasons]
    .slice(0, maxReasons)
    .map(([text, times]) => `${showText(hide(text))} (${times})`);
  const more = reasons.size > maxReasons ? ', ...' : '';
  return `reasons: ${shown.join(', ')}${more}`;
}

const maxReasons = 3;
