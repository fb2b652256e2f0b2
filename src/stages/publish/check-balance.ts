/** Checks rule "Balance" (docs/architecture.md#balance) before a run ends: all its rows, and their origins. */
import type { Checkpoint, RowCounts } from '../../checkpoint/checkpoint.js';
import { UntrustedError } from '../../errors.js';
import { countsOf, originsOf } from '../../report/origins.js';
import type { RunContext } from '../../run-context.js';
import type { Choice, Counts, Origins } from '../../types.js';

/**
 * @param merged how the records in the work file ended.
 * @throws UntrustedError `RUN_UNBALANCED`.
 */
export async function checkBalance(
  run: Pick<RunContext, 'id' | 'source'> & { readonly checkpoint: Pick<Checkpoint, 'run'> },
  merged: RowCounts,
): Promise<{ readonly counts: Counts; readonly origins: Origins }> {
  const counts = countsOf(run.source, merged);
  const { read, successful, failed, unprocessed, rejected } = counts;
  if (read !== successful + failed + unprocessed + rejected) {
    throw unbalanced(
      run.id,
      `${read} records were read, and ${successful} successful, ` +
        `${failed} failed, ${unprocessed} unprocessed and ${rejected} rejected do not add up to them`,
    );
  }
  const origins = originsOf(merged);
  const { choice } = (await run.checkpoint.run(run.id))!;
  const other = choice === null ? undefined : otherOrigins(origins, choice);
  if (other !== undefined) throw unbalanced(run.id, other);
  const { blank = 0 } = run.source;
  if (merged.skipped !== blank) {
    throw unbalanced(run.id, `of ${blank} blank records that are not sent, the output has ${merged.skipped}`);
  }
  return { counts, origins };
}

/** How the origins of the output differ from what was chosen before anything was paid; undefined if they do not. */
function otherOrigins({ sent, reused, duplicates }: Origins, choice: Choice): string | undefined {
  const isAsChosen =
    sent.records === choice.sent &&
    reused.successful === choice.reused.successful &&
    reused.failed === choice.reused.failed &&
    duplicates.records === choice.duplicates;
  if (isAsChosen) return undefined;
  const chosen = choice.reused.successful + choice.reused.failed;
  return (
    `of ${choice.sent} records to send, ${chosen} with reused answers and ${choice.duplicates} duplicates, ` +
    `the output has ${sent.records}, ${reused.records} and ${duplicates.records}`
  );
}

function unbalanced(run: string, how: string): UntrustedError {
  return new UntrustedError('RUN_UNBALANCED', `run ${run}: ${how}`, {
    hint: 'nothing is published; this is a bug in foliopipe: please report it, with the state folder',
  });
}
