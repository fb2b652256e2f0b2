/** What a run has paid for so far, in all its processes: in total, again, and in vain. */
import type { CheckpointReader, Run, Tally } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/walk-run.js';
import type { Config } from '../config/schema.js';
import { budgetAt } from '../config/sections/calendar.js';
import { priceOf, recordsToSend } from './origins.js';

/** Records, and what they cost; null without `budget.pricePerRecord`. */
interface Price {
  readonly records: number;
  readonly amount: number | null;
}

export interface CostFigures {
  /** Records that were, or may have been, paid for; none that a local service accepted, so none in a rehearsal. */
  readonly paid: Price & { readonly currency: string };
  /** Failed records that were sent again, in rounds and by searches. They are paid for again. */
  readonly retried: { readonly records: number; readonly searches: number };
  /**
   * Records that were paid for and have no answer, because their folio is lost or was given up. `perhaps`: those of
   * ambiguous uploads and searches. None in a rehearsal.
   */
  readonly inVain: Price & { readonly perhaps: number };
}

/** Records of a run that were, or may have been, paid for, on any day. */
export async function paidRecords(
  checkpoint: Pick<CheckpointReader, 'spending'>,
  { id, pipeline }: Pick<Run, 'id' | 'pipeline'>,
  budget: Config['budget'],
): Promise<number> {
  return (await checkpoint.spending(pipeline, id, budgetAt(budget, 0).day)).run;
}

type CostReads = Pick<CheckpointReader, 'chunksIn' | 'spending' | 'replyKinds' | 'uploadSums'>;

export async function costFigures(
  checkpoint: CostReads,
  run: Run,
  tally: Tally,
  budget: Config['budget'],
): Promise<CostFigures> {
  // A run that a local and another service have answered ends with exit 6. What the other one accepted is paid for.
  const { mixed } = await checkpoint.replyKinds(run.id);
  const isPaid = mixed || !run.rehearsal;
  const sent = isPaid ? await paidRecords(checkpoint, run, budget) : 0;
  const paid = mixed ? sent - (await acceptedLocally(checkpoint, run.id)) : sent;
  const lost = isPaid && tally.chunks.unprocessed > 0 ? await unanswered(checkpoint, run.id) : 0;
  const { split, ...cut } = tally.records;
  const all = Object.values(cut).reduce((sum, records) => sum + records, 0);
  return {
    paid: { ...priced(paid, budget), currency: budget.currency },
    retried: { records: Math.max(all - recordsToSend(run), 0), searches: tally.searches.answered },
    inVain: { ...priced(lost, budget), perhaps: isPaid ? tally.ambiguousRecords : 0 },
  };
}

/** Records of plain uploads that a local service accepted. */
async function acceptedLocally(
  checkpoint: Pick<CheckpointReader, 'uploadSums'>,
  run: string,
): Promise<number> {
  const sums = await checkpoint.uploadSums(run);
  return sums.reduce((sum, { local, records }) => sum + (local ? records : 0), 0);
}

/** Records of folios that are known and will give no answer. */
async function unanswered(checkpoint: Pick<CheckpointReader, 'chunksIn'>, run: string): Promise<number> {
  let records = 0;
  for await (const chunk of eachChunk(checkpoint, run, ['unprocessed'])) {
    const isLost = chunk.cause === 'FOLIO_LOST' || chunk.cause === 'FOLIO_ABANDONED';
    if (isLost && chunk.folio !== null) records += chunk.records;
  }
  return records;
}

function priced(records: number, { pricePerRecord }: Config['budget']): Price {
  return { records, amount: priceOf(records, pricePerRecord) };
}
