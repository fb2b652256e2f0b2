/**
 * Measures how far the service has drifted: compares answers that were bought again with the earlier ones for the same
 * sent fields, which were too old or of another epoch.
 */
import { chunksInOrder } from '../../checkpoint/walk-run.js';
import { fieldValue } from '../../csv/table.js';
import type { KeyDifference } from '../../delta/list-drift.js';
import { countOf } from '../../quantities.js';
import { type Answers, type NumberedAnswers, statusOf } from '../../results/answers.js';
import { splitColumns } from '../../results/split-columns.js';
import type { RunContext } from '../../run-context.js';
import type { Drift } from '../../types.js';
import { readChunkBlock, releaseBlock } from '../chunk/chunk-content.js';
import { isPartDamaged } from '../download/repair-parts.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { type AppendDifferences, writeList } from './drift-file.js';

type DriftNeeds = MergeChunksNeeds & Pick<RunContext, 'output'>;

/**
 * Reads the chunks of the run again. Leaves out chunks with a damaged part that the service no longer has as it was: their
 * rows are written already. With `output.drift`, lists each difference in a local file, which `putBeside` puts in place.
 * @param columns the columns that the service adds.
 * @returns undefined if the run has bought no answer again.
 */
export async function measureDrift(run: DriftNeeds, columns: readonly string[]): Promise<Drift | undefined> {
  const { choice } = (await run.checkpoint.run(run.id))!;
  if (run.chosen === null || choice === null || choice.outdated === 0) return undefined;
  if (!run.config.output.drift) return compareAll(run, columns, () => undefined);
  return writeList(
    run,
    'drift',
    [],
    (append) => compareAll(run, columns, append),
    (drift) => drift !== undefined,
  );
}

async function compareAll(
  run: DriftNeeds,
  columns: readonly string[],
  onDifferences: AppendDifferences,
): Promise<Drift | undefined> {
  const answers = await openChunkAnswers(run, { columns, isFinal: true });
  const earlier = earlierAnswers(run.chosen!.outdated(1));
  let lost = 0;
  const drift = { compared: 0, changed: 0, columns: new Map<string, number>() };
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.state !== 'downloaded') continue;
      const differences: KeyDifference[] = [];
      const block = await readChunkBlock(run, chunk);
      const found = await answers.forChunk(chunk, block).catch((error: unknown) => {
        if (!isPartDamaged(error)) throw error;
        lost += chunk.records;
      });
      if (found === undefined) continue;
      for (let i = 0; i < block.count; i++) {
        const before = await earlier.of(block.numbers[i]!);
        if (before === undefined) continue;
        const values = differing(before, { answers: found, record: i }, columns);
        drift.compared += 1;
        if (values.length > 0) drift.changed += 1;
        for (const [column, ...both] of values) {
          drift.columns.set(column, (drift.columns.get(column) ?? 0) + 1);
          differences.push([block.numbers[i]!, column, ...both]);
        }
      }
      answers.release(found);
      releaseBlock(block);
      if (differences.length > 0) onDifferences(differences);
    }
  } finally {
    await answers.close();
    await earlier.close();
  }
  if (lost > 0) {
    const text = `${countOf(lost, 'record')} are not compared with their earlier answers, because stored results are damaged`;
    run.logger.warn({ run: run.id, records: lost }, text);
  }
  // All records that were bought again may be in chunks that were given up.
  return drift.compared === 0 ? undefined : { ...drift, columns: Object.fromEntries(drift.columns) };
}

/** The answer of one record. */
interface OneAnswer {
  readonly answers: Answers;
  /** Its index. */
  readonly record: number;
}

/** Finds earlier answers. Records must be asked for in ascending order. */
function earlierAnswers(pieces: AsyncGenerator<NumberedAnswers>) {
  let piece: NumberedAnswers | undefined;
  let next = 0;
  return {
    of: async (number: number): Promise<OneAnswer | undefined> => {
      for (;;) {
        if (piece === undefined || next === piece.numbers.length) {
          const read = await pieces.next();
          if (read.done) return undefined;
          piece = { ...read.value, answers: splitColumns(read.value.answers, []) };
          next = 0;
        }
        while (next < piece.numbers.length && piece.numbers[next]! < number) next += 1;
        if (next < piece.numbers.length) break;
      }
      return piece.numbers[next] === number ? { answers: piece.answers, record: next } : undefined;
    },
    close: async () => {
      await pieces.return(undefined);
    },
  };
}

/** The columns in which two answers differ, with both values; `status` if one has failed. */
function differing(
  before: OneAnswer,
  now: OneAnswer,
  columns: readonly string[],
): (readonly [string, string, string])[] {
  const [old, own] = [before, now].map(({ answers, record }) => answers.sources[answers.source[record]!]!);
  const [oldStatus, ownStatus] = [statusOf(old!), statusOf(own!)];
  if (oldStatus !== ownStatus) return [['status', oldStatus, ownStatus]];
  if (ownStatus !== 'SUCCESSFUL' || old!.origin === 'fixed' || own!.origin === 'fixed') return [];
  const { table: oldTable } = old!;
  const { table } = own!;
  return columns.flatMap((column) => {
    const [oldField, field] = [oldTable.columns.indexOf(column), table.columns.indexOf(column)];
    // A column that only one of them has cannot be compared.
    if (oldField < 0 || field < 0) return [];
    const oldValue = fieldValue(oldTable, before.answers.result[before.record]!, oldField);
    const value = fieldValue(table, now.answers.result[now.record]!, field);
    return oldValue === value ? [] : [[column, oldValue, value] as const];
  });
}
