/**
 * Learns, chunk after chunk, which returned columns are echoes and which are answers (`column-kind.ts`). Each column is
 * judged once in parts of each status, by the first chunk that returns it:
 *
 *     { SUCCESSFUL: { name: 'exact', state: 'answer' }, FAILED: { name: 'exact' } }
 *
 * Later chunks only make an `exact` column `folded`. `join-results.ts` keeps the kinds in the run's join method.
 */
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus, Judgement } from '../types.js';
import { kindByMatches, type SentField } from './column-kind.js';
import { bothStatuses, checkNotShuffled } from './find-swaps.js';
import type { EchoedColumn } from './join-by-echo.js';
import type { Joined } from './join-method.js';

export type Kinds = Judgement['kinds'];

export interface KnownKinds {
  /** The sent columns without the key column. */
  readonly fields: readonly SentField[];
  /** What earlier chunks have shown; null before the first. */
  readonly before: Kinds | null;
  /** The columns of `result.echo`; null if foliopipe judges the columns itself. */
  readonly declared: readonly string[] | null;
}

/**
 * The kinds that are known after this chunk. Judges each column that comes back for the first time.
 *
 * @param matchedBy the columns by which results were matched; null if they were matched by the key.
 * @returns `before` itself if the chunk shows nothing new.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function learnKinds(
  joined: Joined,
  records: RecordBlock,
  matchedBy: readonly EchoedColumn[] | null,
  known: KnownKinds,
): Kinds {
  const SUCCESSFUL = learnInStatus('SUCCESSFUL', joined, records, matchedBy, known);
  const FAILED = learnInStatus('FAILED', joined, records, matchedBy, known);
  const { before } = known;
  return SUCCESSFUL === before?.SUCCESSFUL && FAILED === before.FAILED ? before : { SUCCESSFUL, FAILED };
}

/** The kinds in parts of one status. */
function learnInStatus(
  status: FileStatus,
  joined: Joined,
  records: RecordBlock,
  matchedBy: readonly EchoedColumn[] | null,
  { fields, before, declared }: KnownKinds,
): ColumnKinds {
  const foldedInMatch = new Set(matchedBy?.filter(({ isFolded }) => isFolded).map(({ column }) => column));
  const known = withFolded(before?.[status] ?? {}, foldedInMatch);
  const parts = joined.parts.filter(({ reference, count }) => reference.fileStatus === status && count > 0);
  const newFields = fields.filter(
    ({ column }) => known[column] === undefined && parts.some(({ columns }) => columns.includes(column)),
  );
  if (newFields.length === 0) return known;
  const found = newFields.map((field) => {
    const matched = matchedBy?.find(({ column }) => column === field.column);
    if (matched !== undefined) return [field.column, matched.isFolded ? 'folded' : 'exact'] as const;
    if (declared !== null && !declared.includes(field.column)) return [field.column, 'answer'] as const;
    const kind = kindByMatches(joined, status, field, records);
    if (kind === 'answer') {
      // A declared echo with other values counts as an echo, so that the comparison reports it as strange.
      if (declared !== null) return [field.column, 'folded'] as const;
      checkNotShuffled(joined, records, field, status);
    }
    return [field.column, kind] as const;
  });
  return { ...known, ...Object.fromEntries(found) };
}

/** Turns the exact echoes among these columns into folded ones. Returns the same object if there are none. */
export function withFoldedColumns(
  kinds: Kinds,
  columns: Readonly<Record<FileStatus, ReadonlySet<string>>>,
): Kinds {
  const SUCCESSFUL = withFolded(kinds.SUCCESSFUL, columns.SUCCESSFUL);
  const FAILED = withFolded(kinds.FAILED, columns.FAILED);
  return SUCCESSFUL === kinds.SUCCESSFUL && FAILED === kinds.FAILED ? kinds : { SUCCESSFUL, FAILED };
}

function withFolded(kinds: ColumnKinds, columns: ReadonlySet<string>): ColumnKinds {
  const exact = [...columns].filter((column) => kinds[column] === 'exact');
  if (exact.length === 0) return kinds;
  return { ...kinds, ...Object.fromEntries(exact.map((column) => [column, 'folded' as const])) };
}

/** The statuses whose parts return a column for the first time. */
export function statusesWithNewColumns(kinds: Kinds, before: Kinds): readonly FileStatus[] {
  return bothStatuses.filter((status) =>
    Object.keys(kinds[status]).some((column) => before[status][column] === undefined),
  );
}
