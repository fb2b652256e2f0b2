/** Decides how a chunk's results are matched to its records (law 8): key first, echoed columns second. */
import { UntrustedError } from '../errors/index.js';
import type { JoinWay } from '../types.js';
import type { PartTable } from './part-table.js';

/** What we sent with each record: the columns of the uploaded file. */
export interface SentColumns {
  /** Name of the record number's column, or null where none is sent. */
  readonly key: string | null;
  readonly columns: readonly string[];
}

/**
 * The strongest way that all parts of a chunk allow.
 * @throws UntrustedError when the parts give back neither the key nor any sent column.
 */
export function joinWayOf(parts: readonly PartTable[], sent: SentColumns): JoinWay {
  const filled = parts.filter((part) => part.count > 0);
  const isGivenBack = (column: string) => filled.every((part) => part.columns.includes(column));
  if (sent.key !== null && isGivenBack(sent.key)) return { by: 'key', column: sent.key };
  const columns = sent.columns.filter(isGivenBack);
  if (columns.length > 0) return { by: 'echo', columns };
  throw new UntrustedError(
    'JOIN_IMPOSSIBLE',
    'the results give back none of the columns that were sent, so nothing tells which record they belong to',
    { hint: 'records are never matched by position alone; ask the service provider what its results hold' },
  );
}

/**
 * Holds a chunk's way to the one fixed at the first finished chunk: a stronger one is fine.
 * @throws UntrustedError when it is weaker.
 */
export function checkJoinWay(fixed: JoinWay, found: JoinWay): void {
  if (found.by === 'key') return;
  if (fixed.by === 'echo' && fixed.columns.every((column) => found.columns.includes(column))) return;
  throw new UntrustedError(
    'JOIN_WEAKER',
    `results were joined by ${describe(fixed)} so far, and now only ${describe(found)} is given back`,
    { hint: 'ask the service provider why its results changed; what was bought is kept' },
  );
}

function describe(way: JoinWay): string {
  return way.by === 'key' ? `the key ${way.column}` : `the columns ${way.columns.join(', ')}`;
}
