/** Finds records of the source by the values of `source.key`. */

import type { Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import type { BadRecord } from '../../csv/bad-record.js';
import { scanTable } from '../../csv/scan-records.js';
import { fieldEnd, fieldValue, type Table } from '../../csv/table.js';
import { ConfigError } from '../../errors.js';
import { silentLogger } from '../../logger.js';
import { formatCount } from '../../quantities.js';
import { fieldOf } from '../../results/output-layout.js';
import type { SentFields } from '../../reuse/answer-store.js';
import { scanSource } from '../../source/scan-source.js';
import { namedFiles, type OpenSourceOptions, openSource } from '../../spool/open-source.js';
import { createUploadLayout, maxRecordBytes } from '../../stages/chunk/cut-chunks.js';
import { firstPosition, recordsFrom } from '../../stages/read-source.js';
import { showText } from '../../text.js';
import { withOwnDialect } from '../check/check-source.js';

/** Records, and how their sent fields are found. */
interface FoundRecords {
  readonly records: Table;
  readonly fields: SentFields;
}

interface FindRecordsOptions extends Pick<OpenSourceOptions, 'copies' | 'signal'> {
  /** The newest run of the pipeline. */
  readonly latest: Run | undefined;
}

/**
 * Reads the whole source; if it is one that is copied first, the copy that the latest run has read.
 * @param keys for each record the value of the key's column; for several columns, a line of CSV.
 * @throws ConfigError `REUSE_KEY_MISSING` without `source.key`; `REUSE_KEY_UNKNOWN` when a record is not in the source.
 */
export async function findRecords(
  config: Config,
  keys: readonly string[],
  { latest, copies, signal }: FindRecordsOptions,
): Promise<FoundRecords> {
  const columns = config.source.key;
  if (columns === null) {
    throw new ConfigError('REUSE_KEY_MISSING', '--key needs source.key: the columns that name a record', {
      hint: 'set source.key, or forget the answers of a whole run with --run',
    });
  }
  const named = await namedFiles(config.source);
  const opened = await openSource(config, named, {
    kept: latest,
    copies,
    logger: silentLogger,
    now: 0,
    signal,
  });
  const source = await scanSource({
    ...withOwnDialect(config, opened).source,
    paths: opened.paths,
    maxRecordBytes: maxRecordBytes(config.upload, config.chunks.maxBytes),
    signal,
  });
  const { fields, delimiter: byte } = createUploadLayout(source, config.upload);
  const keyFields = columns.map((column) => fieldOf(source.columns, column, 'source.key'));
  const missing = new Map(keys.map((key) => [JSON.stringify(valuesOf(key, columns.length)), key]));
  const rows: Buffer[] = [];
  for await (const batch of recordsFrom({ source, config, signal }, firstPosition(source))) {
    for (let row = 0; row < batch.count; row++) {
      const key = JSON.stringify(keyFields.map((field) => fieldValue(batch, row, field)));
      if (!missing.delete(key)) continue;
      const end = fieldEnd(batch, row, batch.fields - 1);
      rows.push(Buffer.from(batch.bytes.subarray(batch.starts[row]!, end)), Buffer.from('\n'));
    }
    if (missing.size === 0) break;
  }
  if (missing.size > 0) throw unknownKeys([...missing.values()]);
  return {
    records: tableOf(Buffer.concat(rows), byte, source.columns.length),
    fields: { fields, delimiter: byte },
  };
}

/** @throws ConfigError `USAGE` when there are more or fewer values than columns. */
function valuesOf(key: string, columns: number): readonly string[] {
  if (columns === 1) return [key];
  try {
    const line = tableOf(Buffer.from(`${key}\n`), ','.charCodeAt(0), columns);
    return Array.from({ length: columns }, (_, field) => fieldValue(line, 0, field));
  } catch (cause) {
    throw new ConfigError(
      'USAGE',
      `--key ${key}: expected ${formatCount(columns)} values, separated by commas`,
      { hint: 'source.key has as many columns; a value with a comma needs quotes', cause },
    );
  }
}

/** @throws Error when the bytes are not records with `fields` fields. */
function tableOf(bytes: Buffer, delimiter: number, fields: number): Table {
  const options = {
    delimiter: String.fromCharCode(delimiter),
    fields,
    maxRecordBytes: bytes.length,
    file: 0,
    base: 0,
    firstRecord: 1,
    onBadRecord: (bad: BadRecord) => {
      throw new Error(bad.message);
    },
  };
  const table = scanTable(bytes, options);
  if (table.count === 0) throw new Error('there is no record');
  return table;
}

function unknownKeys(keys: readonly string[]): ConfigError {
  const which = keys.slice(0, 5).map((key) => showText(key));
  const more = keys.length > 5 ? ` and ${keys.length - 5} more` : '';
  return new ConfigError('REUSE_KEY_UNKNOWN', `the source has no record ${which.join(', ')}${more}`, {
    hint: 'nothing was forgotten; check the values of source.key',
    facts: { records: keys.length },
  });
}
