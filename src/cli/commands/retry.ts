/** `foliopipe retry`: sends the failed records of a finished run again. */
import { type Command, Option } from 'commander';
import { planRetry, type RetryPlan, type RetryWay, retry, retryPlanText } from '../../../pipelines/index.js';
import { countOf, formatCount } from '../../quantities.js';
import { presentTexts } from '../../text.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  refuseFileAsRun,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { printResult } from '../output.js';
import { type CommandWork, runJob } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions {
  readonly by?: RetryWay;
  readonly dryRun?: boolean;
}

export function addRetry(command: Command, finish: Finish): void {
  command
    .argument('<run>', 'id of the run, the beginning of one, or last; see: foliopipe runs')
    .argument('[file]', 'config file')
    .addOption(
      new Option(
        '--by <way>',
        'upload: in files, once; search: one by one; default: as failures.rescue says',
      ).choices(['upload', 'search']),
    )
    .option('--dry-run', 'only show what would be sent, and what it costs');
  withOutputOptions(withTimeOptions(withConfigOptions(command))).action(
    async (run: string, file: string | undefined, options: Options) => {
      refuseFileAsRun('retry', run, file);
      const { by } = options;
      if (options.dryRun) return printRetryPlan(options, run, file);
      const job: CommandWork = (config, rest) => retry(config, run, { ...rest, by });
      finish(await runJob(options, file, job, { isNamed: true }));
    },
  );
}

async function printRetryPlan({ by, ...options }: Options, run: string, file: string | undefined) {
  const config = await readConfig(options, file, 'nothing');
  const plan = await planRetry(config, run, { by });
  await printResult(options, { ...plan, exitCode: 0 }, planText(plan));
}

function planText(plan: RetryPlan): string {
  const { run, by, records, reused, held, budget } = plan;
  const own = by === 'search' ? ` --by ${by}` : '';
  const lines = presentTexts([
    records === 0
      ? `foliopipe retry ${run}${own} would send nothing: the run has no failed record that may be sent again; what is left to do: foliopipe runs show ${run}`
      : `foliopipe retry ${run}${own} ${retryPlanText(plan)}; nothing is sent now`,
    reused !== 0 &&
      `  ${countOf(reused, 'failure')} from earlier runs are not asked for again; foliopipe run --new --set reuse.failedAge=0 does so, and pays for them`,
    held !== 0 &&
      `  the service may have ${countOf(held, 'failed record')} from an earlier round: not sent again (ambiguous.policy); foliopipe status --run ${run} says how to bind the folio`,
    ...budget.map(
      ({ cap, limit, left }) =>
        `  budget.${cap}: ${formatCount(left)} of ${formatCount(limit)} left${left < records ? ', which is not enough' : ''}`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}
