/** Checks rule "Balance" (docs/architecture.md#balance) before a run ends: all its rows, and their origins. */
import type { Checkpoint, RowCounts } from '../../checkpoint/checkpoint.js';
import { UntrustedError } from '../../errors.js';
import { originsOf } from '../../report/origins.js';
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
  const counts = countsOf(run, merged);
  const { read, successful, failed, unprocessed, rejected } = counts;
  if (read !== successful + failed + unprocessed + rejected) throw unbalancedError(run.id, counts);
  const origins = originsOf(merged);
  const { choice } = (await run.checkpoint.run(run.id))!;
  if (choice !== null && !isAsChosen(origins, choice)) throw otherOriginsError(run.id, origins, choice);
  const { blank = 0 } = run.source;
  if (merged.skipped !== blank) throw otherSkippedError(run.id, merged.skipped, blank);
  return { counts, origins };
}

/** The counts of a run with these rows. */
export function countsOf({ source }: Pick<RunContext, 'source'>, merged: RowCounts): Counts {
  const { successful, failed, unprocessed } = merged;
  return { read: source.records, successful, failed, unprocessed, rejected: source.rejected };
}

function unbalancedError(run: string, counts: Counts): UntrustedError {
  const { read, successful, failed, unprocessed, rejected } = counts;
  return new UntrustedError(
    'RUN_UNBALANCED',
    `run ${run}: ${read} records were read, and ${successful} successful, ` +
      `${failed} failed, ${unprocessed} unprocessed and ${rejected} rejected do not add up to them`,
    { hint: 'nothing is published; this is a bug in foliopipe: please report it, with the state folder' },
  );
}

/** Whether as many records of each origin are in the output as were chosen before anything was paid. */
function isAsChosen({ sent, reused, duplicates }: Origins, choice: Choice): boolean {
  return (
    sent.records === choice.sent &&
    reused.successful === choice.reused.successful &&
    reused.failed === choice.reused.failed &&
    duplicates.records === choice.duplicates
  );
}

function otherOriginsError(
  run: string,
  { sent, reused, duplicates }: Origins,
  choice: Choice,
): UntrustedError {
  const chosen = choice.reused.successful + choice.reused.failed;
  return new UntrustedError(
    'RUN_UNBALANCED',
    `run ${run}: of ${choice.sent} records to send, ${chosen} with reused answers and ${choice.duplicates} duplicates, ` +
      `the output has ${sent.records}, ${reused.records} and ${duplicates.records}`,
    { hint: 'nothing is published; this is a bug in foliopipe: please report it, with the state folder' },
  );
}

function otherSkippedError(run: string, skipped: number, blank: number): UntrustedError {
  return new UntrustedError(
    'RUN_UNBALANCED',
    `run ${run}: of ${blank} blank records that are not sent, the output has ${skipped}`,
    { hint: 'nothing is published; this is a bug in foliopipe: please report it, with the state folder' },
  );
}
