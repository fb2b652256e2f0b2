/** How many records of a run are not sent, and what that saves: in summary, status and plan. */
import type { RunSummary } from '../../../pipelines/index.js';
import { countOf, formatAmount, formatCount } from '../../quantities.js';
import { field } from './summary-field.js';

interface ReuseFigures {
  readonly reused: number;
  readonly duplicates: number;
  readonly sent: number;
  /** Records that are sent although an older answer is known. */
  readonly outdated: number;
  readonly saved: RunSummary['saved'];
}

/**
 * Such as `2,074 reused + 0 duplicates, 132 sent: 8.30 USD saved`.
 * @param isReal false if nothing is paid: in a plan and in a rehearsal.
 * @param isSent false if not all records are sent yet: in a plan and in a run that is not complete.
 */
export function reuseText(
  { reused, duplicates, sent, outdated, saved }: ReuseFigures,
  { isReal, isSent }: { readonly isReal: boolean; readonly isSent: boolean },
): string {
  const older = outdated === 0 ? '' : ` (${formatCount(outdated)} with an outdated answer)`;
  const { records, amount, currency } = saved;
  const verb = isReal ? 'saved' : 'would be saved';
  const money = records === 0 || amount === null ? '' : `: ${formatAmount(amount)} ${currency} ${verb}`;
  return `${formatCount(reused)} reused + ${countOf(duplicates, 'duplicate')}, ${formatCount(sent)} ${isSent ? 'sent' : 'to send'}${older}${money}`;
}

/** The line about reuse; none if the run has looked up no answers. */
export function runReuseLines({
  state,
  origins,
  saved,
  outdated,
  rehearsal,
}: Pick<RunSummary, 'state' | 'origins' | 'saved' | 'outdated' | 'rehearsal'>): string[] {
  if (outdated === null) return [];
  const { reused, duplicates, sent } = origins;
  const figures = { reused: reused.records, duplicates: duplicates.records, sent: sent.records };
  return field(
    'reuse',
    reuseText({ ...figures, outdated, saved }, { isReal: !rehearsal, isSent: state !== 'open' }),
  );
}
