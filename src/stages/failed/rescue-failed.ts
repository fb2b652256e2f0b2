/**
 * Asks the single-record search for each record that is still FAILED. Its intent is committed before each paid
 * request (law 2), and a record of which nobody can know whether the request counted is never asked for again.
 */
import type { SearchRecord } from '../../api/prediction-api.js';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { eachSearch } from '../../checkpoint/walk-run.js';
import { budgetAt } from '../../config/budget-at.js';
import { fieldText } from '../../csv/write-field.js';
import {
  AmbiguousUploadError,
  ConfigError,
  GuardError,
  OutageError,
  RefusedError,
  UntrustedError,
} from '../../errors.js';
import { searchValues } from '../../results/answers.js';
import { fieldOf, type LaidOutSource } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import type { RecordBlock } from '../../source/record-block.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { drain } from '../../streams/run-stages.js';
import type { UploadOptions } from '../chunk/cut-chunks.js';
import type { Refetch } from '../download/with-healing.js';
import { createResultColumns } from '../merge/result-columns.js';
import { createReceiptRow } from '../submit/unreadable-replies.js';
import { doubtOf } from '../submit/upload-chunk.js';
import { type FailedRecordsNeeds, failedRecords } from './failed-records.js';

export type RescueFailedNeeds = FailedRecordsNeeds &
  Pick<RunContext, 'api' | 'controller' | 'setbacks' | 'clock'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordSearchIntent' | 'recordSearchEnd'>;
  };

/** A failed record that may be asked for. */
interface Question {
  readonly record: number;
  readonly fields: SearchRecord;
}

/**
 * What was answered before is not asked again. The run must be cut whole and answered, with no round begun.
 * @param refetch fetches a chunk's parts anew; without it a damaged part is final.
 * @throws OutageError, GuardError when it stopped before the last record: the run goes on later; ConfigError when
 *   `failures.rescueColumns` are not the run's; RefusedError when no search is answered at all; UntrustedError
 *   when reply after reply cannot be read; AmbiguousUploadError when a search is redirected.
 */
export async function rescueFailed(run: RescueFailedNeeds, refetch?: Refetch): Promise<void> {
  await checkColumns(run, refetch);
  const sum = { asked: 0, answered: 0 };
  let stopped = false;
  const receipts = createReceiptRow(0);

  const ask = async ({ record, fields }: Question): Promise<undefined> => {
    if (stopped) return;
    run.signal.throwIfAborted();
    try {
      const values = await receipts.count(askOnce(run, record, fields));
      sum.asked += 1;
      if (values !== null) sum.answered += 1;
      run.at('after-search-before-next');
    } catch (error) {
      if (error instanceof AmbiguousUploadError && error.doubt !== 'redirected') {
        run.logger.warn(
          { record, code: error.code },
          `record ${record}: ${error.message}; it stays FAILED and is not asked for again`,
        );
        if (!receipts.mayGoOn) {
          stopped = true;
          run.setbacks.first = searchesUnreadable(run.id, receipts.length, error.message);
        }
      } else if (isAboutTheRecord(error)) {
        run.logger.debug({ record, code: error.code }, `record ${record}: ${error.message}`);
      } else if (error instanceof OutageError || error instanceof GuardError) {
        stopped = true;
        run.setbacks.first ??= error;
      } else {
        throw error;
      }
    }
  };

  const { uploads } = run.config.concurrency;
  await drain(mapConcurrent(unmergingFirst(run, questions(run, refetch)), uploads, ask, run.controller));
  if (sum.asked > 0) {
    run.logger.info(
      { run: run.id, ...sum },
      `of ${sum.asked} failed records that were searched one by one ${sum.answered} were found`,
    );
  }
  if (run.setbacks.first !== undefined) throw run.setbacks.first;
}

/** Values that no column of the output is there for would be paid for in vain. */
async function checkColumns(run: RescueFailedNeeds, refetch: Refetch | undefined): Promise<void> {
  const merged = await run.checkpoint.lastMerged(run.id);
  const columns = await createResultColumns(run, merged?.lastRecord ?? 0, refetch).settle(true);
  if (columns === undefined || columns.length === 0) return;
  const strange = Object.keys(run.config.failures.rescueColumns).filter((name) => !columns.includes(name));
  if (strange.length === 0) return;
  throw new ConfigError(
    'RESCUE_COLUMNS_UNKNOWN',
    `failures.rescueColumns: the results of run ${run.id} have no column ${strange.join(', ')}; they have ${columns.join(', ')}`,
    { hint: 'correct the names and run the same command again', facts: { run: run.id } },
  );
}

/**
 * Whether there is a failed record that may be asked for.
 * @param refetch as `rescueFailed` takes it.
 * @throws ConfigError when `failures.rescueColumns` are not the run's.
 */
export async function mayRescue(run: RescueFailedNeeds, refetch?: Refetch): Promise<boolean> {
  await checkColumns(run, refetch);
  for await (const _ of questions(run, refetch)) return true;
  return false;
}

async function* questions(run: RescueFailedNeeds, refetch: Refetch | undefined): AsyncGenerator<Question> {
  const fieldsOf = createSearchFields(run.source, run.config.upload);
  for await (const { chunk, block, places } of failedRecords(run, 0, refetch)) {
    const asked = new Set<number>();
    const { firstRecord, lastRecord } = chunk;
    for await (const { record, state } of eachSearch(run.checkpoint, run.id, firstRecord, lastRecord)) {
      if (state !== 'dropped') asked.add(record);
    }
    for (const place of places) {
      const record = block.numbers[place]!;
      const fields = asked.has(record) ? undefined : fieldsOf(block, place);
      if (fields !== undefined) yield { record, fields };
    }
  }
}

/** Before the first answer, so that whatever a kill leaves is merged anew with the answers that there are. */
async function* unmergingFirst(
  run: RescueFailedNeeds,
  items: AsyncIterable<Question>,
): AsyncGenerator<Question> {
  let isFirst = true;
  for await (const item of items) {
    if (isFirst) {
      run.logger.info({ run: run.id }, 'what is still FAILED is searched one by one');
      await run.checkpoint.recordUnmerged(run.id, 1);
    }
    isFirst = false;
    yield item;
  }
}

/** @returns what is kept of the reply. */
async function askOnce(
  run: RescueFailedNeeds,
  record: number,
  fields: SearchRecord,
): Promise<Readonly<Record<string, string>> | null> {
  const now = run.clock.now();
  await run.checkpoint.recordSearchIntent(run.id, record, now, budgetAt(run.config.budget, now));
  run.at('after-search-intent-before-post');
  let reply: unknown;
  try {
    reply = await run.api.search(fields, run.signal);
  } catch (error) {
    const state = doubtOf(error, run.signal) === undefined ? 'dropped' : 'ambiguous';
    await run.checkpoint.recordSearchEnd(run.id, record, { state });
    throw error;
  }
  run.at('after-search-post-before-commit');
  const values = searchValues(reply, run.config.failures.rescueColumns);
  await run.checkpoint.recordSearchEnd(run.id, record, { state: 'answered', values });
  return values;
}

function searchesUnreadable(run: string, inRow: number, last: string): UntrustedError {
  return new UntrustedError(
    'SEARCHES_UNREADABLE',
    `run ${run}: ${inRow} replies to searches in a row could not be read, so nothing more is searched; the last: ${last}`,
    {
      hint: 'each may be paid for, and is not asked again: look what answers at service.legacyBaseUrl; with failures.rescue: none the run is published without searches',
      facts: { run, inRow },
    },
  );
}

/** A refusal that the next record need not share. */
function isAboutTheRecord(error: unknown): error is RefusedError {
  const statuses: readonly unknown[] = [400, 404, 410, 422];
  return error instanceof RefusedError && statuses.includes(error.facts.status);
}

// What the single-record search is asked with (interface, 4.4): the fields of a record that are uploaded under these names.

/** Gives the fields of the record at a place of a block; undefined without a name, which nothing can be searched by. */
export type SearchFields = (block: RecordBlock, place: number) => SearchRecord | undefined;

/** @throws ConfigError when a configured column is not in the source. */
function createSearchFields(source: LaidOutSource, { columns }: UploadOptions): SearchFields {
  const fields = searchedBy
    .filter((name) => Object.hasOwn(columns, name))
    .map((name) => ({ name, field: fieldOf(source.columns, columns[name]!, `upload.columns.${name}`) }));
  return (block, place) => {
    const record = Object.fromEntries(fields.map(({ name, field }) => [name, textAt(block, place, field)]));
    return record.name?.trim() ? record : undefined;
  };
}

const searchedBy = ['name', 'address', 'state'];

function textAt(block: RecordBlock, place: number, field: number): string {
  const end = place * block.fields + field;
  const start = field === 0 ? block.starts[place]! : block.ends[end - 1]! + 1;
  return fieldText(block.bytes, start, block.ends[end]!);
}
