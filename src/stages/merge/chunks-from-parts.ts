/**
 * Chunk files made again from results, for a complete run: its chunk files are removed, and its source has changed. The
 * results repeat the number and the sent columns. Merging the run has compared these with what was sent, so the fields
 * have the values that were sent; only their quotes may differ.
 */

import type { Checkpoint, Run } from '../../checkpoint/checkpoint.js';
import { isCompleted } from '../../checkpoint/walk-run.js';
import { ByteWriter } from '../../csv/byte-writer.js';
import { COMMA, LF } from '../../csv/bytes.js';
import { fieldEnd, fieldStart } from '../../csv/table.js';
import { writeField } from '../../csv/write-field.js';
import { SourceError } from '../../errors.js';
import type { RunFiles } from '../../files/run-files.js';
import { readKeys } from '../../results/join-by-key.js';
import { type PartTable, readPartTable } from '../../results/part-table.js';
import type { RunContext } from '../../run-context.js';
import { readWhole } from '../../streams/read-pieces.js';
import type { StoredPart } from '../../types.js';
import { createUploadLayout } from '../chunk/cut-chunks.js';

type PartsOfRun = Pick<RunContext, 'id' | 'source' | 'config' | 'files'> & {
  readonly checkpoint: Pick<Checkpoint, 'parts'>;
};

/**
 * The files of a run, in which no chunk is missing. Reading a chunk throws a SourceError where a part lacks a sent
 * column, or has it in another spelling.
 * @param row the run.
 * @returns undefined if results were not matched by the number, or were not all merged.
 */
export function chunksFromParts(run: PartsOfRun, { state, join }: Run): RunFiles | undefined {
  const { files, source } = run;
  const { keyColumn, columns } = run.config.upload;
  if (!isCompleted({ state }) || join === null || join.by !== 'key' || join.column !== keyColumn)
    return undefined;
  const sent = Object.keys(columns);

  const fieldsOf = ({ reference, columns: found }: PartTable): readonly number[] => {
    const kinds = join.judged?.kinds[reference.fileStatus] ?? {};
    return sent.map((column) => (kinds[column] === 'exact' ? found.indexOf(column) : -1));
  };
  const fileOf = async (number: number): Promise<Buffer> => {
    const rows: SentRow[] = [];
    for (const part of await run.checkpoint.parts(run.id, number)) {
      const table = await readPart(files, number, part);
      if (table.count === 0) continue;
      const fields = fieldsOf(table);
      if (fields.includes(-1)) throw notReturned(source.files[0]!.path, number);
      const keys = readKeys(table, table.columns.indexOf(keyColumn));
      for (const [row, key] of keys.entries()) rows.push({ key, table, row, fields });
    }
    rows.sort((one, other) => one.key - other.key);
    const out = new ByteWriter(64 * 1024);
    const { header } = createUploadLayout(source, run.config.upload);
    out.copy(header, 0, header.length);
    for (const row of rows) writeRow(out, row);
    return out.take();
  };

  return {
    ...files,
    hasChunk: async () => true,
    chunkContent: async (number) => {
      const file = await fileOf(number);
      return {
        bytes: file.length,
        open: async function* () {
          yield file;
        },
      };
    },
  };
}

/** A record that was sent, as its result has it. */
interface SentRow {
  /** Its number. */
  readonly key: number;
  readonly table: PartTable;
  readonly row: number;
  /** Indexes of the sent columns, in their order. */
  readonly fields: readonly number[];
}

async function readPart(files: RunFiles, chunk: number, part: StoredPart): Promise<PartTable> {
  return readPartTable(part, await readWhole(files.readPart(chunk, part)));
}

function writeRow(out: ByteWriter, { key, table, row, fields }: SentRow): void {
  out.number(key);
  for (const field of fields) {
    out.byte(COMMA);
    writeField(out, table.bytes, fieldStart(table, row, field), fieldEnd(table, row, field), COMMA);
  }
  out.byte(LF);
}

function notReturned(path: string, chunk: number): SourceError {
  return new SourceError(
    'SOURCE_CHANGED',
    `${path} has changed, and the results of chunk ${chunk} do not hold all columns that were sent`,
    { hint: 'put the file back as it was', facts: { file: path, chunk } },
  );
}
