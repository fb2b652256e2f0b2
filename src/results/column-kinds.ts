/** What is known of the sent columns that come back, chunk after chunk. */
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus, Judgement } from '../types.js';
import { kindAtMatches, type SentField } from './echo-kinds.js';
import type { EchoedColumn } from './join-by-echo.js';
import type { Joined } from './joined.js';
import { bothStatuses, checkNotShuffled } from './judge-echoes.js';

export type Kinds = Judgement['kinds'];

export interface KnownKinds {
  /** The sent columns without the key's. */
  readonly fields: readonly SentField[];
  /** What earlier chunks have shown; null before the first. */
  readonly before: Kinds | null;
  /** `result.echo`: null where the columns are judged. */
  readonly declared: readonly string[] | null;
}

/**
 * The kinds that are known with this chunk: a column that comes back for the first time is judged.
 *
 * @param tuple the columns by which results were matched; null: by the key.
 * @returns `before` itself where the chunk shows nothing new.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function kindsOf(
  joined: Joined,
  records: RecordBlock,
  tuple: readonly EchoedColumn[] | null,
  known: KnownKinds,
): Kinds {
  const SUCCESSFUL = kindsIn('SUCCESSFUL', joined, records, tuple, known);
  const FAILED = kindsIn('FAILED', joined, records, tuple, known);
  const { before } = known;
  return SUCCESSFUL === before?.SUCCESSFUL && FAILED === before.FAILED ? before : { SUCCESSFUL, FAILED };
}

/** The kinds in parts of one status. */
function kindsIn(
  status: FileStatus,
  joined: Joined,
  records: RecordBlock,
  tuple: readonly EchoedColumn[] | null,
  { fields, before, declared }: KnownKinds,
): ColumnKinds {
  const foldedInTuple = new Set(tuple?.filter(({ isFolded }) => isFolded).map(({ column }) => column));
  const known = withFolded(before?.[status] ?? {}, foldedInTuple);
  const parts = joined.parts.filter(({ reference, count }) => reference.fileStatus === status && count > 0);
  const late = fields.filter(
    ({ column }) => known[column] === undefined && parts.some(({ columns }) => columns.includes(column)),
  );
  if (late.length === 0) return known;
  const found = late.map((field) => {
    const matched = tuple?.find(({ column }) => column === field.column);
    if (matched !== undefined) return [field.column, matched.isFolded ? 'folded' : 'exact'] as const;
    if (declared !== null && !declared.includes(field.column)) return [field.column, 'answer'] as const;
    const kind = kindAtMatches(joined, status, field, records);
    if (kind === 'answer') {
      // A declared echo with other values counts as an echo, so that the comparison reports a strange result.
      if (declared !== null) return [field.column, 'folded'] as const;
      checkNotShuffled(joined, records, field, status);
    }
    return [field.column, kind] as const;
  });
  return { ...known, ...Object.fromEntries(found) };
}

/** The same kinds, but with the exact echoes among these columns folded; the same object where there are none. */
export function loosened(kinds: Kinds, columns: Readonly<Record<FileStatus, ReadonlySet<string>>>): Kinds {
  const SUCCESSFUL = withFolded(kinds.SUCCESSFUL, columns.SUCCESSFUL);
  const FAILED = withFolded(kinds.FAILED, columns.FAILED);
  return SUCCESSFUL === kinds.SUCCESSFUL && FAILED === kinds.FAILED ? kinds : { SUCCESSFUL, FAILED };
}

function withFolded(kinds: ColumnKinds, columns: ReadonlySet<string>): ColumnKinds {
  const exact = [...columns].filter((column) => kinds[column] === 'exact');
  if (exact.length === 0) return kinds;
  return { ...kinds, ...Object.fromEntries(exact.map((column) => [column, 'folded' as const])) };
}

/** The statuses in whose parts columns come back that had not before. */
export function lateStatuses(kinds: Kinds, before: Kinds): readonly FileStatus[] {
  return bothStatuses.filter((status) =>
    Object.keys(kinds[status]).some((column) => before[status][column] === undefined),
  );
}
