/**
 * Finds the columns that the service adds, before the first row is written. They come from the config, from earlier
 * runs of the pipeline, or from the first chunk of the source that has a success. If no chunk has a success, they come
 * from the rounds and searches of failed records.
 */
import type { ChunkRow, Run } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachSearch, isAnswered } from '../../checkpoint/walk-run.js';
import { frozenAddress } from '../../config/frozen-config.js';
import { EMBEDDED } from '../../config/sections/service-section.js';
import { statusOf } from '../../results/answers.js';
import { checkTypes } from '../../results/column-types.js';
import { addedColumns, createOutputLayout } from '../../results/output-layout.js';
import { lookAtJoined, sentColumns } from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';

/**
 * Gives the columns; undefined while they cannot be known yet.
 * @param isEnd no more chunks will come. If the whole run has no success, the list is empty, and that is not recorded.
 */
type FindColumns = (isEnd: boolean) => Promise<readonly string[] | undefined>;

/**
 * @param merged the last merged record. While it is 0, declared columns replace recorded ones.
 */
export function createColumnFinder(run: MergeChunksNeeds, merged: number): FindColumns {
  let fixed: readonly string[] | undefined;
  let searched = merged;

  const fix = async (columns: readonly string[], learned: boolean) => {
    checkKnownTypes(run, columns);
    await run.checkpoint.recordColumns(run.id, columns, learned);
    run.at('after-columns-before-merge');
    fixed = columns;
    return columns;
  };

  return async (isEnd) => {
    if (fixed !== undefined) return fixed;
    const row = (await run.checkpoint.run(run.id))!;
    const expected = await expectedColumns(run, row);
    if (run.config.result.columns.length > 0 && merged === 0) return fix(expected, false);
    // A run from before version 0.1.0 has an empty list if it had no success.
    if (row.columns !== null && row.columns.length > 0) {
      fixed = row.columns;
      return fixed;
    }
    if (expected.length > 0 && merged === 0) return fix(expected, false);
    for await (const chunk of chunksInOrder(run.checkpoint, run.id, 0, searched)) {
      if (!isAnswered(chunk)) return undefined;
      if (chunk.state === 'downloaded' && chunk.counts!.successful > 0) {
        const learned = await learnColumns(run, chunk);
        if (learned !== undefined) return fix(learned, !isNamedRehearsal(row));
      }
      searched = chunk.lastRecord;
    }
    if (!isEnd || row.chunks === null) return undefined;
    const retried = merged === 0 ? await learnRetriedColumns(run, row) : undefined;
    if (retried !== undefined) {
      return fix(retried.columns, retried.learned && !isNamedRehearsal(row));
    }
    // No answer of this run shows the columns, so those of the reused answers are taken.
    const reused = merged === 0 ? (row.choice?.columns ?? []) : [];
    if (reused.length > 0) return fix(reused, false);
    // No success: the rows have no added columns, and later successes may still add some.
    return [];
  };
}

/** Whether a local service has answered a run under the name of another service, which may add other columns. */
function isNamedRehearsal(run: Run): boolean {
  return run.rehearsal && !run.service.startsWith(EMBEDDED) && frozenAddress(run) !== run.service;
}

/**
 * Checks `output.types` as soon as the columns of the service are known, before more is paid.
 * @throws ConfigError `OUTPUT_TYPES_UNKNOWN`.
 */
export function checkKnownTypes(
  { source, config: { output, result } }: Pick<MergeChunksNeeds, 'source' | 'config'>,
  columns: readonly string[],
): void {
  if (columns.length === 0 || Object.keys(output.types).length === 0) return;
  checkTypes(createOutputLayout(source, output), columns, output.types, result.onChange !== 'add');
}

/**
 * The columns that are expected before an answer of the run is read: the declared ones; else those that the run has;
 * else those that the pipeline has learned. Under `result.onChange: add` all of them and those of the reused answers, in
 * this order, except that a run which has columns takes no more from the pipeline and from reused answers. Otherwise the
 * columns of reused answers are not used here: an import may have wrong ones, so answers of this run come first.
 */
export async function expectedColumns(
  run: Pick<MergeChunksNeeds, 'config'> & {
    readonly checkpoint: Pick<MergeChunksNeeds['checkpoint'], 'knownColumns'>;
  },
  row: Pick<Run, 'columns' | 'pipeline' | 'service' | 'choice'>,
): Promise<readonly string[]> {
  const { columns: declared, onChange } = run.config.result;
  const own = row.columns ?? [];
  const known = own.length > 0 ? [] : ((await run.checkpoint.knownColumns(row.pipeline, row.service)) ?? []);
  // A pipeline without a success may take answers that another pipeline has bought.
  const reused = own.length > 0 ? [] : (row.choice?.columns ?? []);
  if (onChange === 'add') return [...new Set([...declared, ...own, ...known, ...reused])];
  return [declared, own, known].find(({ length }) => length > 0) ?? [];
}

/**
 * The columns that the service has added to a downloaded chunk with a success. The chunk is joined for this, because
 * the join shows which of the sent columns hold answers of the service.
 * @returns undefined when a damaged part must be fetched again and the folio is lost.
 */
export async function learnColumns(
  run: MergeChunksNeeds,
  chunk: ChunkRow,
): Promise<readonly string[] | undefined> {
  return lookAtJoined(run, chunk, ({ sources }) => {
    const source = sources.find(
      (one) => statusOf(one) === 'SUCCESSFUL' && one.origin !== 'fixed' && one.table.count > 0,
    );
    if (source === undefined || source.origin === 'fixed') return undefined;
    const { kinds } = run.join.method!.judged!;
    return addedColumns(source.table, sentColumns(run.config.upload), kinds.SUCCESSFUL);
  });
}

/** The columns that come from rounds or searches. */
interface RetriedColumns {
  readonly columns: readonly string[];
  /** Whether the service chose them. The config chooses the columns of searches. */
  readonly learned: boolean;
}

/**
 * The columns of a run whose own chunks have no success: from the first closed round with a success, or from a search.
 */
export async function learnRetriedColumns(
  run: MergeChunksNeeds,
  row: Pick<Run, 'round'>,
): Promise<RetriedColumns | undefined> {
  for (let round = 1; round <= row.round; round++) {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id, round)) {
      if (chunk.state !== 'downloaded' || chunk.counts!.successful === 0) continue;
      const learned = await learnColumns(run, chunk);
      if (learned !== undefined) return { columns: learned, learned: true };
    }
  }
  for await (const { values } of eachSearch(run.checkpoint, run.id)) {
    if (values !== null) return { columns: Object.keys(values), learned: false };
  }
  return undefined;
}
