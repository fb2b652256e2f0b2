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

const COUNTS = [
  ...['successful', 'failed', 'unprocessed', 'indistinct', 'reused_successful', 'reused_failed'],
  ...['duplicate_successful', 'duplicate_failed', 'duplicate_unprocessed', 'skipped'],
];

export const copiedTables: readonly CopiedTable[] = [
  {
    name: 'runs',
    columns: [
      ...[
        'id',
        'pipeline',
        'service',
        'label',
        'source',
        'frozen',
        'canary',
        'choice',
        'created_at',
        'state',
      ],
      ...[
        'chunks',
        'columns',
        'join_way',
        'round',
        'rehearsal',
        'mixed',
        'publication',
        'partial',
        'withheld',
      ],
      ...['confirmed', 'finished_at', 'pruned_at'],
    ],
    key: [],
  },
  {
    name: 'chunks',
    columns: [
      ...['run', 'number', 'round', 'first_record', 'last_record', 'records', 'start_file', 'start_offset'],
      ...['end_file', 'end_offset', 'bytes', 'sha256', 'state', 'attempt', 'folio', 'cut_at', 'submitted_at'],
      ...['finished_at', 'downloaded_at', 'successful', 'failed', 'cause', 'refusal'],
    ],
    key: ['run', 'number'],
  },
  { name: 'picked_records', columns: ['run', 'chunk', 'numbers'], key: ['run', 'chunk'] },
  {
    name: 'uploads',
    columns: [
      ...['run', 'chunk', 'attempt', 'file_name', 'records', 'state', 'doubt', 'folio', 'local'],
      ...['service_records', 'started_at', 'day', 'ended_at'],
    ],
    key: ['run', 'chunk', 'attempt'],
  },
  {
    name: 'parts',
    columns: ['run', 'chunk', 'file_status', 'part', 'bytes', 'sha256', 'records'],
    key: ['run', 'chunk', 'file_status', 'part'],
  },
  {
    name: 'stretches',
    columns: [
      ...['run', 'first_record', 'last_record', 'records', 'end_file', 'end_offset', 'work_end', 'sha256'],
      ...COUNTS,
      ...['reasons', 'merged_at'],
    ],
    key: ['run', 'first_record'],
  },
  { name: 'pipeline_columns', columns: ['pipeline', 'service', 'columns'], key: ['pipeline', 'service'] },
  {
    name: 'searches',
    columns: ['run', 'record', 'state', 'values', 'started_at', 'day'],
    key: ['run', 'record'],
  },
  {
    name: 'single_searches',
    columns: ['id', 'pipeline', 'service', 'state', 'local', 'started_at', 'day'],
    key: ['id'],
  },
  { name: 'spending', columns: ['pipeline', 'day', 'run', 'records'], key: ['pipeline', 'day', 'run'] },
  {
    name: 'publications',
    columns: ['pipeline', 'number', 'run', 'path', 'bytes', 'sha256', 'stamp', 'night'],
    key: ['pipeline', 'number'],
  },
  { name: 'loads', columns: ['run', 'load'], key: ['run'] },
  { name: 'output_uploads', columns: ['name', 'upload'], key: ['name'] },
  { name: 'segments', columns: ['id', 'run', 'newest', 'segment'], key: ['id'] },
];

/** Names of columns are quoted, because some are words of SQL. */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
