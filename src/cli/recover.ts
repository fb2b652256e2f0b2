/** `foliopipe recover`: rebuilds a lost checkpoint of all pipelines in the state folder, without the service. */
import type { Command } from 'commander';
import { type Recovered, type RecoveredRun, recover } from '../../pipelines/index.js';
import { type CommonOptions, readConfig, withConfigOptions, withOutputOptions } from './common-options.js';
import { createLogger } from './create-logger.js';
import type { Finish } from './finish.js';
import { countOf, formatCount } from './format.js';
import { printJson } from './json-lines.js';
import { print } from './output.js';

interface Options extends CommonOptions {
  readonly dryRun?: boolean;
}

export function addRecover(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file').option('--dry-run', 'only say what would be rebuilt');
  withOutputOptions(withConfigOptions(command)).action(async (file: string | undefined, options: Options) => {
    const config = await readConfig(options, file);
    const { dryRun = false } = options;
    const recovered = await recover(config, {
      dryRun,
      logger: createLogger(options, []),
      holder: { pid: process.pid, command: process.argv.slice(2).join(' ') },
    });
    // What could not be rebuilt is still refused by the next run.
    const exitCode = recovered.runs.some(({ found }) => found === 'lost') ? 2 : 0;
    if (options.json) {
      const { runs, ...rest } = recovered;
      for (const run of runs) await printJson('run', run);
      await printJson('summary', { ...rest, runs: runs.length, dryRun, exitCode });
    } else await print(textOf(recovered, dryRun));
    finish(exitCode);
  });
}

function textOf({ base, runs, replaced, aside }: Recovered, dryRun: boolean): string {
  const rebuilt = runs.filter(({ found }) => found === 'rebuilt');
  const goesOn = rebuilt.filter(({ state }) => state === 'open' || state === 'publishing');
  const lost = runs.filter(({ found }) => found === 'lost');
  const done = replaced ? 'rebuilt' : 'would be rebuilt';
  return `${[
    `the checkpoint is ${base}`,
    ...runs.map(runText),
    ...(rebuilt.length > 0 || base !== 'whole' ? [`${countOf(rebuilt.length, 'run')} ${done}`] : []),
    ...(aside === null ? [] : [`the old checkpoint is kept as ${aside}`]),
    ...(base === 'whole' ? [] : ['runs whose results foliopipe 0.1 has removed are no longer in the ledger']),
    ...lost.map(({ run }) => `move the folder of run ${run} away; its folios can be bound by hand (adopt)`),
    ...(rebuilt.length === 0 && base === 'whole' ? ['nothing is missing'] : []),
    ...(goesOn.length > 0 && !dryRun ? ['next: foliopipe run goes on and pays for nothing again'] : []),
  ].join('\n')}\n`;
}

function runText({ run, pipeline, found, reason, ...of }: RecoveredRun): string {
  if (found === 'kept') return `${run}  whole`;
  if (found === 'renewed') return `${run}  whole; ${reason}, and is written again`;
  if (found === 'lost') return `${run}  cannot be rebuilt: ${reason}`;
  const { state, chunks, folios, downloaded, ambiguous, records, prunedAt } = of;
  const held = [
    `${formatCount(records)} records paid for`,
    countOf(folios, 'folio'),
    ...(prunedAt === null
      ? [`all results of ${formatCount(downloaded)} of ${countOf(chunks, 'chunk')}`]
      : ['pruned']),
    ...(ambiguous > 0 ? [`${countOf(ambiguous, 'upload')} of which nobody knows`] : []),
  ];
  return `${run}  ${pipeline}, ${state}: ${held.join(', ')}`;
}
