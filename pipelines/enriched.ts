/** The rows of a run as they come: as objects, or as the bytes of a CSV. */
import {
  abortOnEarlyReturn,
  ConfigError,
  checkCall,
  checkRow,
  checkSchema,
  createOutputLayout,
  createRowReader,
  giveBack,
  iterateChain,
  type MergedStretch,
  oneByOne,
  outputColumns,
  outputHeader,
  type RowObject,
  type RowSchema,
  unrecordedError,
} from '../src/index.js';
import { giveRows } from './give-rows.js';
import type { ReadyRun } from './with-ready-run.js';

/** The options of `enrichedBytes`. */
export interface EnrichedBytesOptions {
  /** Whether the first piece is the header. Default: `true`. */
  readonly header?: boolean | undefined;
}

/**
 * The output of a run as a CSV, piece by piece: UTF-8, commas, line feeds, with its header. Does the whole job; see
 * `enrichedRecords` for when rows come, and for how it ends.
 */
export function enrichedBytes(
  run: ReadyRun,
  options: EnrichedBytesOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  checkCall('enrichedBytes', { opened: run, options });
  return untilLeft(run, piecesOf(run, options.header ?? true));
}

async function* piecesOf(run: ReadyRun, header: boolean): AsyncGenerator<Buffer> {
  const layout = createOutputLayout(run.source, run.config.output);
  let isFirst = header;
  for await (const { bytes, columns } of stretchesOf(run)) {
    if (isFirst) yield outputHeader(layout, columns);
    isFirst = false;
    yield bytes;
  }
  if (isFirst) yield outputHeader(layout, run.given.rows?.columns ?? []);
}

/** The options of `enrichedRecords`. */
export interface EnrichedRecordsOptions<Output> {
  /** A schema of zod or of any other library with Standard Schema: each record is checked, changed and typed by it. */
  readonly schema: RowSchema<Output>;
}

/**
 * The rows of a run as objects: the keys are the columns of the output, the values texts. Does the whole job as `enrich`
 * does, except that it writes no output: uploads, waits, downloads, and gives the rows in the order of the source as
 * their chunks are answered. While nobody asks for the next record, only work in flight is finished.
 *
 * Leaving the loop early stops the job as a signal does: uploads in flight are waited for, and a run that is opened again
 * goes on, pays nothing twice and gives every row again, from the first. After the last record, `run.confirm()` marks the
 * run done. Several workers may ask one iterator for records at the same time: each record is given once.
 * @throws ConfigError before anything is paid: `COLUMN_TWICE` when two columns have the same name,
 *   `ROW_SCHEMA_UNKNOWN` for a schema that is not a Standard Schema; UntrustedError
 *   `ROW_INVALID` when a record does not fit the schema; GuardError `ROWS_WITHHELD`; the errors of `enrich`.
 */
export function enrichedRecords(run: ReadyRun): AsyncGenerator<RowObject, void, undefined>;
export function enrichedRecords<Output>(
  run: ReadyRun,
  options: EnrichedRecordsOptions<Output>,
): AsyncGenerator<Output, void, undefined>;
export function enrichedRecords<Output>(
  run: ReadyRun,
  options?: EnrichedRecordsOptions<Output>,
): AsyncGenerator<RowObject | Output, void, undefined> {
  checkCall('enrichedRecords', { opened: run, options });
  checkNames(run);
  if (options !== undefined) checkSchema(options.schema);
  return oneByOne(
    untilLeft(run, batchesOf(run)),
    options && (({ rows, recordOf }, at) => checkRow(options.schema, rows[at]!, run.id, recordOf(at))),
  );
}

/** Stops the job when the consumer leaves early, also while it waits for its next item. */
function untilLeft<T>(run: ReadyRun, items: AsyncGenerator<T>): AsyncGenerator<T> {
  const guarded = abortOnEarlyReturn(items, run.controller, () => undefined);
  let hasLeft = false;
  const iterator = {
    next: () =>
      guarded.next().catch((error: unknown) => {
        // This call was waiting when the consumer left: it ends without an item.
        if (hasLeft) return { done: true, value: undefined };
        throw error;
      }),
    return: async (value?: unknown) => {
      hasLeft = true;
      const end = await guarded.return(value);
      // A paid reply that could be recorded nowhere must not go unnoticed.
      const lost = unrecordedError(run);
      if (lost !== undefined) throw lost;
      return end;
    },
    throw: (error: unknown) => {
      hasLeft = true;
      return guarded.throw(error);
    },
    [Symbol.asyncIterator]: () => iterator,
  } as AsyncGenerator<T>;
  return iterator;
}

function stretchesOf(run: ReadyRun): AsyncGenerator<MergedStretch> {
  return iterateChain<MergedStretch>(run.controller, (sink) => giveRows(run, sink));
}

/** Some rows, and the number of the record of each of them. */
interface Batch {
  readonly rows: readonly RowObject[];
  readonly recordOf: (at: number) => number;
}

async function* batchesOf(run: ReadyRun): AsyncGenerator<Batch> {
  const layout = createOutputLayout(run.source, run.config.output);
  const stretches = stretchesOf(run);
  let read: ReturnType<typeof createRowReader> | undefined;
  for await (const { bytes, columns, firstRecord, numbers } of stretches) {
    read ??= createRowReader(outputColumns(layout, columns));
    let before = 0;
    for (const rows of read(bytes)) {
      const first = before;
      yield { rows, recordOf: (at) => numbers?.[first + at] ?? firstRecord + first + at };
      before += rows.length;
    }
    giveBack(bytes);
  }
}

/** Checks that no two columns have the same name, because an object has each key only once. */
function checkNames({ source, config }: ReadyRun): void {
  const { sourceColumns } = createOutputLayout(source, config.output);
  const twice = sourceColumns.find((column, at) => sourceColumns.indexOf(column) !== at);
  if (twice === undefined) return;
  throw new ConfigError(
    'COLUMN_TWICE',
    `two columns of the source are called ${JSON.stringify(twice)}, and a record has one value for a key`,
    {
      hint: 'set source.header: rename, or leave one out with output.columns; or read enrichedBytes',
      facts: { column: twice },
    },
  );
}
