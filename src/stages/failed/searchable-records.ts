/**
 * Finds the failed records that may be searched one by one, with the fields that the search takes (interface, 4.4): the
 * columns uploaded as `name`, `address` and `state`.
 */
import type { SearchRecord } from '../../api/prediction-api.js';
import { eachSearch } from '../../checkpoint/walk-run.js';
import { fieldValue } from '../../csv/table.js';
import { ConfigError } from '../../errors.js';
import type { RecordBlock } from '../../source/record-block.js';
import { showNames } from '../../text.js';
import { sentFields } from '../chunk/chunk-content.js';
import { type FailedRecordsNeeds, failedRecords, fixedColumns } from './failed-records.js';

export interface SearchableRecord {
  /** The number of the record. */
  readonly record: number;
  readonly fields: SearchRecord;
}

/**
 * Leaves out records without a name, and records that were searched already; a search that was certainly not accepted
 * does not count.
 */
export async function* searchableRecords(run: FailedRecordsNeeds): AsyncGenerator<SearchableRecord> {
  const fieldsOf = createSearchFields(run);
  for await (const { chunk, block, indexes } of failedRecords(run, 0)) {
    const searched = new Set<number>();
    const { firstRecord, lastRecord } = chunk;
    for await (const { record, state } of eachSearch(run.checkpoint, run.id, firstRecord, lastRecord)) {
      if (state !== 'dropped') searched.add(record);
    }
    for (const index of indexes) {
      const record = block.numbers[index]!;
      const fields = searched.has(record) ? undefined : fieldsOf(block, index);
      if (fields !== undefined) yield { record, fields };
    }
  }
}

/**
 * Checks the columns before a search is paid for: a value without a column in the output would be lost.
 * @throws ConfigError when `failures.rescueColumns` names columns that the results of the run do not have.
 */
export async function checkRescueColumns(run: FailedRecordsNeeds): Promise<void> {
  const columns = await fixedColumns(run);
  if (columns === undefined || columns.length === 0) return;
  const unknown = Object.keys(run.config.failures.rescueColumns).filter((name) => !columns.includes(name));
  if (unknown.length === 0) return;
  throw new ConfigError(
    'RESCUE_COLUMNS_UNKNOWN',
    `failures.rescueColumns: the results of run ${run.id} have no column ${showNames(unknown)}; they have ${showNames(columns)}`,
    { hint: 'correct the names and run the same command again', facts: { run: run.id } },
  );
}

/** Gives the fields of the record at an index of a block; undefined if it has no name to search for. */
type SearchFields = (block: RecordBlock, index: number) => SearchRecord | undefined;

/** @throws ConfigError when a configured column is not in the source. */
function createSearchFields(run: Parameters<typeof sentFields>[0]): SearchFields {
  const sent = sentFields(run);
  const fields = searchedBy.flatMap((name) =>
    sent
      .filter(({ column }) => column === name)
      .map(({ column, sourceField }) => ({ name: column, field: sourceField })),
  );
  return (block, index) => {
    const record = Object.fromEntries(
      fields.map(({ name, field }) => [name, fieldValue(block, index, field)]),
    );
    return record.name?.trim() ? record : undefined;
  };
}

const searchedBy = ['name', 'address', 'state'];
