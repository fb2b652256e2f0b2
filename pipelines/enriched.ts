/** The rows of a run as they come: as objects, or as the bytes of a CSV. */
import {
  abortOnEarlyReturn,
  ConfigError,
  checkRow,
  createOutputLayout,
  createRowReader,
  giveBack,
  iterateChain,
  type MergedStretch,
  outputColumns,
  outputHeader,
  type RowObject,
  type RowSchema,
  runError,
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
  { header = true }: EnrichedBytesOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  return untilLeft(run, piecesOf(run, header));
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
 * their chunks are answered. While nobody asks for the next record, no more than what is in flight is done.
 *
 * Leaving the loop early stops the job as a signal does: uploads in flight are waited for, and a run that is opened again
 * goes on, pays nothing twice and gives every row again, from the first. After the last record, `run.confirm()` marks the
 * run done.
 * @throws ConfigError `COLUMN_TWICE` before anything is paid, when two columns have the same name; UntrustedError
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
  checkNames(run);
  return oneByOne(
    untilLeft(run, batchesOf(run)),
    options && ((row, record) => checkRow(options.schema, row, run.id, record)),
  );
}

/** Stops the job when the consumer leaves early, also while it waits for its next item. */
function untilLeft<T>(run: ReadyRun, items: AsyncGenerator<T>): AsyncGenerator<T> {
  const guarded = abortOnEarlyReturn(items, run.controller);
  const iterator = {
    next: () => guarded.next(),
    return: async (value?: unknown) => {
      const end = await guarded.return(value);
      // A paid reply that could be recorded nowhere must not go unnoticed.
      const lost = runError(run, undefined);
      if (lost !== undefined) throw lost;
      return end;
    },
    throw: (error: unknown) => guarded.throw(error),
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

/** Gives the rows of batches without a promise chain for each of them. */
function oneByOne<Output>(
  batches: AsyncGenerator<Batch>,
  check: ((row: RowObject, record: number) => Output | Promise<Output>) | undefined,
): AsyncGenerator<RowObject | Output, void, undefined> {
  type Result = IteratorResult<RowObject | Output, void>;
  let batch: Batch | undefined;
  let at = 0;
  const take = (): Result | Promise<Result> => {
    const index = at++;
    const row = batch!.rows[index]!;
    if (check === undefined) return { done: false, value: row };
    const value = check(row, batch!.recordOf(index));
    return value instanceof Promise
      ? value.then((found) => ({ done: false, value: found }))
      : { done: false, value };
  };
  const nextBatch = async (): Promise<Result> => {
    const { done, value } = await batches.next();
    if (done) return { done: true, value: undefined };
    batch = value;
    at = 0;
    return batch.rows.length === 0 ? nextBatch() : take();
  };
  const end = async (): Promise<Result> => {
    batch = undefined;
    await batches.return(undefined);
    return { done: true, value: undefined };
  };
  const iterator = {
    next: async () => {
      if (batch === undefined || at >= batch.rows.length) return nextBatch();
      try {
        return await take();
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
    throw: async (error: unknown) => {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
  return iterator as AsyncGenerator<RowObject | Output, void, undefined>;
}

/** An object has each key once. */
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
