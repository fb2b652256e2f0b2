/**
 * Joins a large chunk whose records are not in memory: they are read in windows, and compared with their results. Only if
 * there is nothing to judge, because the same columns come back as in earlier chunks, which have proved the join.
 */
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { JoinMethod } from '../types.js';
import { kindOf, withFoldedColumns } from './column-kinds.js';
import { joinByKey } from './join-by-key.js';
import { checkEchoes, checkJoinMethod, type Joined, returnedColumns } from './join-method.js';
import type { JoinTerms } from './join-results.js';
import { checkPredicted } from './output-layout.js';
import type { PartTable } from './part-table.js';

/** Records with only the fields that were sent, in the order of `JoinTerms.fields`: the others may be far larger. */
export interface SentBlock extends RecordBlock {
  readonly isSentOnly: true;
}

/** The records of a chunk that are read when they are needed. */
export interface StreamedRecords {
  /** Their numbers in the source, ascending. */
  readonly numbers: Int32Array;
  /**
   * Reads them in their order. A window is valid until the next one is requested; its arrays may be longer than needed.
   */
  windows(): AsyncGenerator<RecordBlock, void, undefined>;
  /** Reads their sent fields into one block. */
  sent(): Promise<SentBlock>;
}

/**
 * Joins by the key, and compares every echo.
 *
 * @returns undefined if the chunk must be joined as a whole: it shows something new, or it does not match, which
 *   `joinResults` explains.
 * @throws UntrustedError `JOIN_WEAKER`, `NOTHING_PREDICTED`; what reading the records throws.
 */
export async function joinWindows(
  parts: readonly PartTable[],
  records: StreamedRecords,
  terms: JoinTerms & { readonly method: JoinMethod },
): Promise<Joined | undefined> {
  const { sent, fields, method, compare } = terms;
  const returned = returnedColumns(parts, sent);
  checkJoinMethod(method, returned);
  checkEchoes(method, parts);
  if (!returned.key || !isJudged(parts, terms)) return undefined;
  const { kinds } = method.judged!;
  try {
    const joined = joinByKey(parts, sent.key!, records.numbers);
    checkPredicted(parts, sent, kinds.SUCCESSFUL);
    let from = 0;
    for await (const window of records.windows()) {
      const to = from + window.count;
      const own = { parts, part: joined.part.subarray(from, to), result: joined.result.subarray(from, to) };
      if (withFoldedColumns(kinds, compare(window, own, fields, kinds)) !== kinds) return undefined;
      from = to;
    }
    return joined;
  } catch (error) {
    if (error instanceof MismatchError && error.code === 'RESULTS_DO_NOT_MATCH') return undefined;
    throw error;
  }
}

/** Whether earlier chunks have proved the join by the key, with all sent columns that come back in this one. */
function isJudged(
  parts: readonly PartTable[],
  { fields, method, declared }: JoinTerms & { readonly method: JoinMethod },
): boolean {
  const { judged } = method;
  if (method.by !== 'key' || judged?.isProven !== true) return false;
  // Until declared echoes are too weak in one chunk, they must be checked in each chunk as a whole.
  if (declared !== null && judged.isOnWord !== true) return false;
  return parts.every(
    ({ reference, columns, count }) =>
      count === 0 ||
      fields.every(
        ({ column }) =>
          !columns.includes(column) || kindOf(judged.kinds[reference.fileStatus], column) !== undefined,
      ),
  );
}
