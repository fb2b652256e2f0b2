/** Checks what a run has left in the output's place, with the help of the output of an undisturbed run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parse } from 'csv-parse/sync';
import { CHUNK_RECORDS } from './job.js';

const REASON = 'made to fail by a fault rule';

/**
 * @param undisturbed the bytes of an undisturbed run's output.
 * @returns what is wrong, or undefined.
 */
export function checkOutput(path, expected, undisturbed) {
  const files = existsSync(dirname(path)) ? readdirSync(dirname(path)) : [];
  const name = basename(path);
  const others = files.filter((file) => file !== name && !/\.partial$/.test(file)).sort();
  if (expected.is === 'nothing') {
    return files.includes(name) || others.length > 0
      ? `published: ${[name, ...others].join(', ')}`
      : undefined;
  }
  const beside = [`${name}._REHEARSAL`, `${name}.manifest.json`].join(', ');
  if (others.join(', ') !== beside) return `beside the output: ${others.join(', ')}; expected ${beside}`;
  const written = readFileSync(path);
  if (expected.is === 'complete') {
    return written.equals(undisturbed) ? undefined : 'the output differs from an undisturbed one';
  }
  const rows = rowsOf(written);
  const undisturbedRows = rowsOf(undisturbed);
  if (rows.length !== undisturbedRows.length) return `${rows.length} records in the output`;
  const problem = checks[expected.is](rows, undisturbedRows, expected);
  return problem ?? checkCounts(path, rows);
}

const checks = {
  unprocessed: (rows, undisturbed, { chunks, cause }) =>
    firstWrong(rows, (row, at) =>
      chunks.includes(1 + Math.floor(at / CHUNK_RECORDS))
        ? {
            ...withoutPrediction(undisturbed[at], row),
            prediction_status: 'UNPROCESSED',
            prediction_error_code: cause,
            prediction_error: row.prediction_error || 'the cause in words',
          }
        : undisturbed[at],
    ),

  failing: (rows, undisturbed, { all }) => {
    const isMade = (row) => row.prediction_error === REASON;
    const made = rows.filter(isMade).length;
    if (all ? made < rows.length : made === 0 || made === rows.length)
      return `${made} records were made to fail`;
    return firstWrong(rows, (row, at) =>
      isMade(row)
        ? {
            ...withoutPrediction(undisturbed[at], row),
            prediction_status: 'FAILED',
            prediction_error_code: 'SERVICE_FAILED',
            prediction_error: REASON,
          }
        : undisturbed[at],
    );
  },

  refused: (rows, undisturbed, { record, error }) =>
    firstWrong(rows, (row, at) =>
      at + 1 === record
        ? {
            ...withoutPrediction(undisturbed[at], row),
            prediction_status: 'FAILED',
            prediction_error_code: 'RECORD_REFUSED',
            prediction_error: error,
          }
        : undisturbed[at],
    ),

  /** `error` makes the error text of a failed record from the usual one; `emptied` names a column without values in chunks. */
  columns: (rows, undisturbed, { renamed, dropped, added, error, emptied }) =>
    firstWrong(rows, (_row, at) => {
      const isFailed = undisturbed[at].prediction_status === 'FAILED';
      const changed = Object.entries(undisturbed[at])
        .filter(([column]) => !dropped.some((one) => column === `prediction_${one}`))
        .map(([column, value]) => {
          const old = column.replace(/^prediction_/, '');
          if (column === 'prediction_error' && isFailed && error) return [column, error(value)];
          if (emptied?.chunks.includes(1 + Math.floor(at / CHUNK_RECORDS)) && emptied.column === old)
            return [column, ''];
          return [column !== old && renamed[old] ? `prediction_${renamed[old]}` : column, value];
        });
      const more = Object.entries(added).map(([name, value]) => [
        `prediction_${name}`,
        isFailed ? '' : value,
      ]);
      return Object.fromEntries([...changed, ...more]);
    }),
};

/** The source's columns, and those of the prediction, as far as the output has them, empty. */
function withoutPrediction(undisturbed, row) {
  const columns = Object.keys(undisturbed).filter((column) => column in row);
  return Object.fromEntries(
    columns.map((column) => [column, column.startsWith('prediction_') ? '' : undisturbed[column]]),
  );
}

function firstWrong(rows, expectedOf) {
  for (const [at, row] of rows.entries()) {
    const expected = expectedOf(row, at);
    const [is, shouldBe] = [row, expected].map((one) => JSON.stringify(Object.entries(one)));
    if (is !== shouldBe) return `record ${at + 1} is ${is}, expected ${shouldBe}`;
  }
  return undefined;
}

/** Rule "Balance": the counts of the manifest are those of the rows. */
function checkCounts(path, rows) {
  const { counts } = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8'));
  for (const status of ['successful', 'failed', 'unprocessed']) {
    const found = rows.filter((row) => row.prediction_status === status.toUpperCase()).length;
    if (found !== counts[status])
      return `the manifest counts ${counts[status]} ${status}, the output has ${found}`;
  }
  return undefined;
}

function rowsOf(bytes) {
  return parse(bytes, { columns: true });
}
