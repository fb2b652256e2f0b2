/**
 * Withholds a complete output that would be published with exit 3 (`failures.onExceeded: withhold`): the output that is
 * in place stays, with its manifest, rejects and marker, and everything that was bought is kept.
 */
import type { Checkpoint, RowCounts } from '../../checkpoint/checkpoint.js';
import { exceededReasons, judgedCounts, mustWithhold } from '../../report/exit-code.js';
import { countsOf, originsOf } from '../../report/origins.js';
import type { RunContext } from '../../run-context.js';
import { checkAllFiles } from '../read-source.js';
import { checkBalance } from './check-balance.js';
import { type KeepAnswersNeeds, keepAnswers, removeReplaced } from './keep-answers.js';
import { removeUnneeded } from './waiting-files.js';

export type WithholdNeeds = KeepAnswersNeeds &
  Pick<RunContext, 'clock'> & {
    readonly checkpoint: Pick<Checkpoint, 'publications' | 'recordWithheld' | 'run' | 'tally'>;
  };

/**
 * Commits "withheld" together with its reason and the answers that were bought, if the config wants so. Never withholds
 * the output of a run that is done, nor one that would replace an earlier output of the same run.
 * @param rows how the rows have ended; left out if they are in the work file.
 * @returns whether the output is withheld.
 * @throws UntrustedError when the run does not balance; SourceError when the source changed.
 */
export async function withholdOutput(run: WithholdNeeds, rows?: RowCounts): Promise<boolean> {
  const { failures } = run.config;
  if (failures.onExceeded === 'publish') return false;
  const merged = rows ?? (await run.checkpoint.tally(run.id)).counts;
  const judged = judgedCounts({ counts: countsOf(run.source, merged), origins: originsOf(merged) });
  if (!mustWithhold(judged, failures) || !(await mayWithhold(run))) return false;
  const { counts, origins } = await checkBalance(run, merged);
  await checkAllFiles(run);
  const kept = await keepAnswers(run, merged);
  run.at('after-segment-before-withheld');
  const { tolerate } = failures;
  const withheld = { counts, origins, tolerate };
  await run.checkpoint.recordWithheld(run.id, withheld, run.clock.now(), kept?.segment);
  run.at('after-withheld-before-removal');
  await removeReplaced(run, kept);
  await removeUnneeded(run);
  run.logger.warn(
    { run: run.id, failed: judged.failed, unprocessed: counts.unprocessed, tolerate },
    `run ${run.id} is withheld: ${exceededReasons(judged, tolerate).join('; ')}; nothing is published`,
  );
  return true;
}

async function mayWithhold(run: WithholdNeeds): Promise<boolean> {
  const { pipeline, state } = (await run.checkpoint.run(run.id))!;
  if (state === 'done') return false;
  const files = await run.checkpoint.publications(pipeline);
  // An earlier output of the run without a stamp was never put in place.
  const inPlace = files.find(
    (file) => file.path === run.config.output.path && (file.run !== run.id || file.stamp !== null),
  );
  return inPlace?.run !== run.id;
}
