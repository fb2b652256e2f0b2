/** Why a run that is there cannot be gone on with or published again. */
import type { Run } from '../checkpoint/checkpoint.js';
import { GuardError, SourceError } from '../errors/index.js';
import type { Source } from '../types.js';

/** Of a run whose results were removed. @param why they are needed. */
export function resultsPruned({ id, prunedAt }: Run, why?: string): GuardError {
  const day = new Date(prunedAt!).toISOString().slice(0, 10);
  return new GuardError(
    'RUN_PRUNED',
    `the results of run ${id} were removed on ${day} (retention.results)${why === undefined ? '' : `, and ${why}`}`,
    {
      hint: 'what it has cost is in foliopipe ledger; foliopipe run --new sends its source again, and pays again',
      facts: { run: id },
    },
  );
}

/** Of a run whose source is another now. */
export function sourceIsAnother({ id, state, source }: Run, now: Source): SourceError {
  const isDone = state === 'done';
  const change =
    source.records === now.records
      ? `its source has other content now (${now.records} records then and now)`
      : `its source is no longer the same: ${source.records} records then, ${now.records} now`;
  return new SourceError('SOURCE_CHANGED', `run ${id} is ${isDone ? 'done' : 'unfinished'}, and ${change}`, {
    hint: isDone
      ? `put the old file back to publish run ${id} again; foliopipe run begins one with the new file`
      : `put the old file back to finish run ${id}, or begin afresh: foliopipe run --new, always: source.onChange: supersede`,
    facts: { run: id, before: source.sha256, now: now.sha256 },
  });
}
