/**
 * The tables that a state in SQLite and one in Postgres have in common, in an order in which rows refer to earlier
 * ones.
 */

export interface CopiedTable {
  readonly name: string;
  /** In both databases; what Postgres derives from them is not listed. */
  readonly columns: readonly string[];
  /** The columns of its key, by which its rows are ordered; none: the order of insertion. */
  readonly key: readonly string[];
}

/** @param columns and key: names, separated by blanks. */
function table(name: string, columns: string, key: string): CopiedTable {
  return { name, columns: wordsIn(columns), key: wordsIn(key) };
}

function wordsIn(text: string): readonly string[] {
  return text.match(/\w+/g) ?? [];
}

export const copiedTables: readonly CopiedTable[] = [
  table(
    'runs',
    `id pipeline service label source frozen canary choice created_at state chunks columns join_way round rehearsal
      mixed publication partial withheld confirmed finished_at pruned_at`,
    '',
  ),
  table(
    'chunks',
    `run number round first_record last_record records start_file start_offset end_file end_offset bytes sha256 state
      attempt folio cut_at submitted_at finished_at downloaded_at successful failed cause refusal`,
    'run number',
  ),
  table('picked_records', 'run chunk numbers', 'run chunk'),
  table(
    'uploads',
    `run chunk attempt file_name records state doubt folio local service_records started_at day ended_at`,
    'run chunk attempt',
  ),
  table('parts', 'run chunk file_status part bytes sha256 records', 'run chunk file_status part'),
  table(
    'stretches',
    `run first_record last_record records end_file end_offset work_end sha256 successful failed unprocessed indistinct
      reused_successful reused_failed duplicate_successful duplicate_failed duplicate_unprocessed skipped reasons
      merged_at`,
    'run first_record',
  ),
  table('pipeline_columns', 'pipeline service columns', 'pipeline service'),
  table('searches', 'run record state values started_at day', 'run record'),
  table('single_searches', 'id pipeline service state local started_at day', 'id'),
  table('spending', 'pipeline day run records', 'pipeline day run'),
  table('publications', 'pipeline number run path bytes sha256 stamp night', 'pipeline number'),
  table('loads', 'run load', 'run'),
  table('output_uploads', 'name upload', 'name'),
  table('segments', 'id run newest segment', 'id'),
];

/** Names of columns are quoted, because some are words of SQL. */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
