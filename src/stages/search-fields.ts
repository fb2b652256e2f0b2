/** What the single-record search is asked with (interface, 4.4): the fields of a record that are uploaded under these names. */
import type { SearchRecord } from '../api/prediction-api.js';
import { fieldText } from '../csv/write-field.js';
import { fieldOf, type LaidOutSource } from '../results/output-layout.js';
import type { RecordBlock } from '../results/record-block.js';
import type { UploadOptions } from './cut-chunks.js';

/** Gives the fields of the record at a place of a block; undefined without a name, which nothing can be searched by. */
export type SearchFields = (block: RecordBlock, place: number) => SearchRecord | undefined;

/** @throws ConfigError when a configured column is not in the source. */
export function createSearchFields(source: LaidOutSource, { columns }: UploadOptions): SearchFields {
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
