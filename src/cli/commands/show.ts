/** `foliopipe runs show`: all that is known of one run. */
import type { Command } from 'commander';
import {
  isCompleted,
  isUnfinished,
  type NextTerms,
  type RunReport,
  reportRun,
  termsOfRun,
} from '../../../pipelines/index.js';
import { countOf, formatCount, formatDecimals, formatShare, formatSpan } from '../../quantities.js';
import { escapeUnprintable, presentTexts, shorten } from '../../text.js';
import { type CommonOptions, readConfig, runAndFile, withCommonOptions } from '../common-options.js';
import { printResult } from '../output.js';
import { openState } from '../session.js';
import { field } from '../texts/summary-field.js';
import { recordLines } from '../texts/summary-figures.js';
import { summaryText } from '../texts/summary-text.js';
import { partialLines } from '../texts/unfinished-text.js';

/** Most lines of a list; `--json` has more. */
const MAX_LINES = 10;

export function addShow(runs: Command): void {
  const command = runs
    .command('show')
    .description('show all that is known of one run; foliopipe report makes a page of it')
    .argument('[run]', 'id of the run, the beginning of one, or last (the default)')
    .argument('[file]', 'config file');
  withCommonOptions(command).action(
    async (first: string | undefined, second: string | undefined, _: object, self: Command) => {
      // `runs` has the same flags: they may be given before or after `show`.
      const options = self.optsWithGlobals<CommonOptions>();
      const [name, file] = runAndFile(first, second);
      const config = await readConfig(options, file, 'nothing');
      const state = await openState(config);
      try {
        const report = await reportRun(config, name, { checkpoint: state });
        const run = (await state.run(report.summary.run))!;
        const text = reportText(report, termsOfRun(config, run));
        await printResult(options, { ...report, exitCode: 0 }, text);
      } finally {
        await state.close();
      }
    },
  );
}

function reportText(report: RunReport, terms: NextTerms): string {
  const { summary, night } = report;
  const { run, createdAt, state } = summary;
  const end = night?.ended ?? summary.finishedAt;
  const lines = presentTexts([
    ...field('service', escapeUnprintable(summary.service)),
    ...report.source.slice(0, MAX_LINES).flatMap(({ name }) => field('source', escapeUnprintable(name))),
    ...field(
      'began',
      `${new Date(createdAt).toISOString()}${end === null ? '' : `, ended after ${formatSpan(end - createdAt)}`}`,
    ),
    ...codeLines(report),
    ...comparedLine(report),
    `  chunks, times and plots: foliopipe report ${run}`,
    isUnfinished({ state }) && `  what it waits for, and how it goes on: foliopipe status --run ${run}`,
  ]);
  const head = isCompleted({ state })
    ? summaryText(summary, terms)
    : `${[`run ${run} is ${state}`, ...partialLines(summary), ...recordLines(summary)].join('\n')}\n`;
  return `${head}${lines.join('\n')}\n`;
}

function codeLines({ night }: RunReport): string[] {
  const found = night?.predictions;
  if (found == null) return [];
  const { codes, coded, confidences } = found;
  return presentTexts([
    ...codes
      .slice(0, MAX_LINES)
      .map(
        ({ code, records }) =>
          `  code      ${shorten(escapeUnprintable(code), 40)}  ${formatCount(records)} (${formatShare(records, coded)})`,
      ),
    confidences !== null && `  confidence ${formatDecimals(confidences.mean)} on average`,
  ]);
}

function comparedLine({ night, before, isCompared, summary }: RunReport): string[] {
  if (night === null || summary.unusual.length > 0) return [];
  return [
    isCompared
      ? `  nothing is unusual, compared with the ${countOf(before.length, 'night')} before`
      : '  not compared with other nights: too few are known (docs/report.md)',
  ];
}
