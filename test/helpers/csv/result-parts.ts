/** Makes result parts and blocks of records from text, for tests of the joins and of the rows. */
import { scanBuffer } from '../../../src/csv/scan-records.js';
import { type PartTable, readPartTable } from '../../../src/results/part-table.js';
import { createBlockReader, type RecordBlock } from '../../../src/source/record-block.js';
import type { PartReference } from '../../../src/types.js';

export function successful(content: string, part = 0): PartTable {
  return partOf({ fileStatus: 'SUCCESSFUL', part }, content);
}

export function failed(content: string, part = 0): PartTable {
  return partOf({ fileStatus: 'FAILED', part }, content);
}

function partOf(reference: PartReference, content: string): PartTable {
  return readPartTable(reference, Buffer.from(content));
}

export interface BlockOptions {
  readonly fields: number;
  readonly delimiter?: string;
  readonly firstRecord?: number;
}

/** All records of a text without a header; malformed records are skipped. */
export async function blockOf(content: string, options: BlockOptions): Promise<RecordBlock> {
  const { fields, delimiter = ',', firstRecord = 1 } = options;
  const batches = async function* () {
    yield* scanBuffer(Buffer.from(content), {
      delimiter,
      fields,
      maxRecordBytes: 1_000_000,
      file: 0,
      base: 0,
      firstRecord,
      onBadRecord: () => undefined,
    });
  };
  return createBlockReader(batches()).take(Number.MAX_SAFE_INTEGER);
}

/** Gives the error that a function throws; throws if it does not throw. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
