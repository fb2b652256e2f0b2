/** Collects the facts about a whole output that later nights are compared with (docs/report.md). */
import type { Checkpoint, NightFacts, Predictions } from '../../checkpoint/checkpoint.js';
import { dayOf } from '../../config/sections/calendar.js';
import { outputRows } from '../../delta/delta-rows.js';
import { UntrustedError } from '../../errors.js';
import { priceOf } from '../../report/origins.js';
import { createPredictionCounter } from '../../results/count-predictions.js';
import { createOutputLayout, outputColumns, STATUS_COLUMNS } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import type { Counts, Drift, Origins } from '../../types.js';

type MeasureNightNeeds = Pick<RunContext, 'id' | 'config' | 'source' | 'clock' | 'signal' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'run' | 'nightOf' | 'failureReasons' | 'spending'>;
};

/** The output, complete in its work file. */
interface WholeOutput {
  readonly path: string;
  /** The columns that the service adds. */
  readonly columns: readonly string[];
  readonly counts: Counts;
  readonly origins: Origins;
  readonly drift: Drift | undefined;
}

/** Takes the facts from the checkpoint. Reads the output, once, only if `result.report` names a column. */
export async function measureNight(run: MeasureNightNeeds, output: WholeOutput): Promise<NightFacts> {
  const row = (await run.checkpoint.run(run.id))!;
  const { budget, pipeline } = run.config;
  const now = run.clock.now();
  const spent = await run.checkpoint.spending(pipeline, run.id, dayOf(now, budget.timeZone));
  const paid = row.rehearsal ? 0 : spent.run;
  const { columns, counts, origins, drift } = output;
  return {
    began: row.createdAt,
    // Writing the output again does not make the night longer.
    ended: (await run.checkpoint.nightOf(run.id))?.ended ?? now,
    rehearsal: row.rehearsal,
    counts,
    origins,
    columns,
    paid,
    amount: priceOf(paid, budget.pricePerRecord),
    currency: budget.currency,
    drift: drift === undefined ? null : { compared: drift.compared, changed: drift.changed },
    reasons: await run.checkpoint.failureReasons(run.id),
    predictions: await countPredictions(run, output),
  };
}

async function countPredictions(
  run: MeasureNightNeeds,
  { path, columns }: WholeOutput,
): Promise<Predictions | null> {
  const { code, confidence } = run.config.result.report;
  if (code === null && confidence === null) return null;
  const layout = createOutputLayout(run.source, run.config.output);
  const status = layout.sourceColumns.length;
  const fieldOf = (name: string | null) => {
    const at = name === null ? -1 : columns.indexOf(name);
    return at < 0 ? -1 : status + STATUS_COLUMNS.length + at;
  };
  const counter = createPredictionCounter({ status, code: fieldOf(code), confidence: fieldOf(confidence) });
  try {
    for await (const batch of outputRows({ path, columns: outputColumns(layout, columns) })) {
      run.signal.throwIfAborted();
      counter.add(batch);
    }
  } catch (error) {
    // The output is good without these facts.
    if (!(error instanceof UntrustedError)) throw error;
    run.logger.warn(
      { run: run.id, code: error.code },
      `codes and confidences are not counted: ${error.message}`,
    );
    return null;
  }
  return counter.counted({ code, confidence });
}
