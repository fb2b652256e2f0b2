/** Gives a rebuilt checkpoint its rows of stored answers: without them a later run would buy the answers again. */
import type { RebuiltRun } from '../../checkpoint/recovery/rebuilt-run.js';
import type { RecoveredDatabase } from '../../checkpoint/recovery/recovered-database.js';
import { isUnfinished } from '../../checkpoint/walk-run.js';
import type { Segment } from '../../types.js';
import { localStores } from '../open/open-stores.js';

/** The stored answers that were found again. */
export interface RecoveredAnswers {
  /** Segments that have a row again, and the answers in them. */
  readonly segments: number;
  readonly successful: number;
  readonly failed: number;
  /** Files of stored answers that cannot be read. */
  readonly lost: readonly string[];
}

export const NO_ANSWERS: RecoveredAnswers = { segments: 0, successful: 0, failed: 0, lost: [] };

/**
 * Records every segment that has a file and no row. Leaves out those of runs that a readable checkpoint knows, because
 * their answers were forgotten, and those of unfinished runs, because these make their segments when they are published.
 * @param rebuilt the runs that have been put into the database.
 */
export async function recoverAnswers(
  database: RecoveredDatabase,
  stateDir: string,
  rebuilt: readonly RebuiltRun[],
): Promise<RecoveredAnswers> {
  const { segments: stored, damaged } = await localStores(stateDir).answers.storedSegments();
  const states = new Map(rebuilt.map(({ head, state }) => [head.run, state]));
  const known = new Set(database.segments.map(({ run }) => run));
  const isForgotten = (run: string) => database.known.includes(run) && !states.has(run);
  const newest = new Map<string, Segment>();
  for (const segment of stored) {
    const { run } = segment;
    if (known.has(run) || isForgotten(run) || isUnfinished({ state: states.get(run) })) continue;
    const other = newest.get(run);
    if (other === undefined || isNewer(segment, other)) newest.set(run, segment);
  }
  const found = [...newest.values()];
  await database.putSegments(found);
  return {
    segments: found.length,
    successful: found.reduce((sum, { successful }) => sum + successful, 0),
    failed: found.reduce((sum, { failed }) => sum + failed, 0),
    lost: damaged,
  };
}

/** The ids of a run's segments end with numbers that increase. */
function isNewer(segment: Segment, other: Segment): boolean {
  return segment.id.localeCompare(other.id, 'en', { numeric: true }) > 0;
}
