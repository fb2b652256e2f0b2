/** Gives joined results a field for each column, for an output with other columns than theirs. */
import { LF } from '../csv/bytes.js';
import type { AnswerSource, Answers, ResultSource } from './answers.js';
import { type PartTable, readResults } from './part-table.js';

/** Whether the one field of each row holds exactly these columns. */
function isJoinedAs({ isJoined, columns }: PartTable, wanted: readonly string[]): boolean {
  return (
    isJoined === true && columns.length === wanted.length && columns.every((name, at) => name === wanted[at])
  );
}

/**
 * The same answers, with joined results split unless they have exactly the wanted columns. Failures have one column.
 * @param wanted the columns of the output.
 */
export function splitColumns(answers: Answers, wanted: readonly string[]): Answers {
  const { sources } = answers;
  const mustSplit = sources.map((one) => isSplitNeeded(one, wanted));
  if (!mustSplit.includes(true)) return answers;
  const result = answers.result.slice();
  const split = sources.map((one, at) =>
    mustSplit[at] ? splitSource(one as ResultSource, rowsOf(answers, at), result) : one,
  );
  return { ...answers, sources: split, result };
}

function isSplitNeeded(one: AnswerSource, wanted: readonly string[]): boolean {
  if (one.origin === 'fixed' || !one.table.isJoined) return false;
  return one.table.reference.fileStatus === 'SUCCESSFUL' && !isJoinedAs(one.table, wanted);
}

/** Indexes of the records that a source answers. */
function rowsOf({ source }: Answers, at: number): number[] {
  const rows: number[] = [];
  for (let i = 0; i < source.length; i++) if (source[i] === at) rows.push(i);
  return rows;
}

/** @param result gets the index of each record's result in the new table. */
function splitSource(one: ResultSource, rows: readonly number[], result: Int32Array): ResultSource {
  const { columns, reference, bytes, starts, ends } = one.table;
  const count = rows.length;
  const size = rows.reduce((sum, i) => sum + ends[result[i]!]! - starts[result[i]!]! + 1, 0);
  const text = Buffer.allocUnsafe(size);
  const own = { starts: new Int32Array(count), ends: new Int32Array(count) };
  const records = one.records && new Int32Array(count);
  let to = 0;
  for (const [row, i] of rows.entries()) {
    const at = result[i]!;
    own.starts[row] = to;
    text.set(bytes.subarray(starts[at]!, ends[at]!), to);
    to += ends[at]! - starts[at]!;
    own.ends[row] = to;
    text[to++] = LF;
    if (records !== null) records[row] = one.records![at]!;
    result[i] = row;
  }
  const table =
    columns.length > 1
      ? readResults({ ...reference, records: count }, { columns, bytes: 0 }, text)
      : // Not scanned: a single empty value would be read as a blank line.
        { reference, columns, bytes: text, count, fields: 1, ...own };
  return { ...one, records, table };
}
