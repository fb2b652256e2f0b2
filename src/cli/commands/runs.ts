/** `foliopipe runs`: lists the runs of a pipeline, newest first; `runs prune` removes the results of old runs. */
import type { Command } from 'commander';
import { loadStatus, paidRecords, partialFacts, type Run, recordsToSend } from '../../../pipelines/index.js';
import { type CommonOptions, readConfig, withCommonOptions } from '../common-options.js';
import { print, printJson, stderr } from '../output.js';
import { openState } from '../session.js';
import { nextSteps } from '../texts/next-steps.js';
import { exitCodeOf, type ListedRun, runsTable } from '../texts/runs-table.js';
import { addPrune } from './prune.js';
import { addShow } from './show.js';

interface Options extends CommonOptions {
  readonly all?: boolean;
}

export function addRuns(command: Command): void {
  command.argument('[file]', 'config file').option('--all', 'every pipeline in the state folder');
  addPrune(command);
  addShow(command);
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file, 'nothing');
    const state = await openState(config);
    try {
      const runs = await state.runs(options.all ? undefined : config.pipeline);
      const listed: ListedRun[] = [];
      for (const run of runs) {
        const load = await loadStatus(state, { ...config, load: null }, run);
        const paid = await paidRecords(state, run, config.budget);
        if (options.json) await printJson('run', { ...runFields(run), paid, load: load?.state ?? null });
        else listed.push({ run, paid, isLoadFailed: load?.state === 'failed' });
      }
      const { timeZone, pricePerRecord } = config.budget;
      const hasPipelines = options.all === true;
      await print(runsTable(listed, { timeZone, pricePerRecord, hasPipelines }));
      if (runs.length === 0 && !options.json)
        stderr.write(nextSteps('no runs yet; begin one with: foliopipe run\n'));
      if (options.json) await printJson('summary', { runs: runs.length, exitCode: 0 });
    } finally {
      await state.close();
    }
  });
}

function runFields(run: Run) {
  const { id, pipeline, service, label, state, source, choice, publication, confirmed, rehearsal } = run;
  const { createdAt, finishedAt, prunedAt, withheld } = run;
  return {
    run: id,
    pipeline,
    service,
    label,
    state,
    rehearsal,
    sample: source.limit ?? null,
    records: source.records,
    sent: recordsToSend(run),
    reused: choice === null ? 0 : choice.reused.successful + choice.reused.failed,
    duplicates: choice?.duplicates ?? 0,
    skipped: source.blank ?? 0,
    exitCode: exitCodeOf(run),
    publication: publication?.number ?? null,
    partial: partialFacts(run),
    confirmed: run.confirmed !== null,
    createdAt: new Date(createdAt).toISOString(),
    finishedAt: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    counts: (publication ?? confirmed ?? withheld)?.counts ?? null,
    prunedAt: prunedAt === null ? null : new Date(prunedAt).toISOString(),
  };
}
