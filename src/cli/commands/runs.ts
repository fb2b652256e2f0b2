/** `foliopipe runs`: lists the runs of a pipeline, newest first; `runs prune` removes the results of old runs. */
import type { Command } from 'commander';
import { loadStatus, type Run, recordsToSend, withheldExitCode } from '../../../pipelines/index.js';
import { countOf, formatCount } from '../../quantities.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { nextSteps } from '../next-steps.js';
import { print, printJson, stderr } from '../output.js';
import { openState } from '../session.js';
import { addPrune } from './prune.js';
import { addShow } from './show.js';

interface Options extends CommonOptions {
  readonly all?: boolean;
}

export function addRuns(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file').option('--all', 'every pipeline in the state folder');
  addPrune(command, finish);
  addShow(command, finish);
  withOutputOptions(withConfigOptions(command)).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file, 'nothing');
    const state = await openState(config);
    try {
      const runs = await state.runs(options.all ? undefined : config.pipeline);
      for (const run of runs) {
        const load = await loadStatus(state, { ...config, load: null }, run);
        if (options.json) await printJson('run', { ...runFields(run), load: load?.state ?? null });
        else await print(`${runText(run)}${load?.state === 'failed' ? '  load failed' : ''}\n`);
      }
      if (runs.length === 0 && !options.json)
        stderr.write(nextSteps('no runs yet; begin one with: foliopipe run\n'));
      if (options.json) await printJson('summary', { runs: runs.length, exitCode: 0 });
      finish(0);
    } finally {
      await state.close();
    }
  });
}

function runFields(run: Run) {
  const { id, pipeline, service, label, state, source, choice, publication, rehearsal } = run;
  const { createdAt, prunedAt } = run;
  return {
    run: id,
    pipeline,
    service,
    label,
    state,
    rehearsal,
    records: source.records,
    sent: recordsToSend(run),
    reused: choice === null ? 0 : choice.reused.successful + choice.reused.failed,
    duplicates: choice?.duplicates ?? 0,
    skipped: source.blank ?? 0,
    exitCode: exitCodeOf(run),
    publication: publication?.number ?? null,
    createdAt: new Date(createdAt).toISOString(),
    prunedAt: prunedAt === null ? null : new Date(prunedAt).toISOString(),
  };
}

/** The exit code with which the run has ended; null if it has not. */
function exitCodeOf({ publication, withheld }: Run): number | null {
  return withheld === null ? (publication?.exitCode ?? null) : withheldExitCode;
}

function runText(run: Run): string {
  const { id, pipeline, state, source, rehearsal, label } = run;
  const exitCode = exitCodeOf(run);
  const ended = exitCode === null ? state : `${state}, exit ${exitCode}`;
  const sent = recordsToSend(run);
  const pruned = run.prunedAt !== null;
  return [
    id,
    pipeline,
    `${countOf(source.records, 'record')}${sent === source.records - source.rejected ? '' : `, ${formatCount(sent)} sent`}`,
    pruned ? `${ended}, pruned` : ended,
    ...(rehearsal ? ['rehearsal'] : []),
    ...(label === null ? [] : [label]),
  ].join('  ');
}
