/** `foliopipe report`: writes one HTML page about a run, which needs no network and no other file. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ConfigError, isCompleted, reportRun, writeReport } from '../../../pipelines/index.js';
import { formatBytes } from '../../quantities.js';
import { type CommonOptions, readConfig, runAndFile, withCommonOptions } from '../common-options.js';
import { printResult } from '../output.js';
import { rememberValues, warnOfMove } from '../session.js';
import { nextSteps } from '../texts/next-steps.js';

export function addReport(command: Command): void {
  command
    .argument('[run]', 'id of the run, the beginning of one, or last (the default)')
    .argument('[file]', 'config file');
  withCommonOptions(command).action(
    async (first: string | undefined, second: string | undefined, { output, ...options }: CommonOptions) => {
      const [name, file] = runAndFile(first, second);
      const config = await readConfig(options, file, 'nothing');
      await warnOfMove(config);
      const report = await reportRun(config, name, {
        completeText: (text, row) => {
          if (!isCompleted(row)) rememberValues(config, row);
          return nextSteps(text);
        },
      });
      const { run, pipeline } = report.summary;
      const path = resolve(output ?? config.report.html ?? `${pipeline}-${run}.html`);
      refuseForeign(path, [config.source.path, config.output.path, ...config.ownFiles]);
      const bytes = await writeReport(report, path, config.output.mode);
      const text = `report on run ${run}: ${path} (${formatBytes(bytes)})\n`;
      await printResult(options, { run, pipeline, report: path, bytes, exitCode: 0 }, text);
    },
  );
  const option = command.options.find(({ long }) => long === '--output');
  if (option !== undefined)
    option.description =
      'the HTML file to write; default: the file that report.html in the config names, or PIPELINE-RUN.html here';
}

/** @throws ConfigError `USAGE` for a file that cannot be a report, or that the config names. */
function refuseForeign(path: string, others: readonly (string | null)[]): void {
  if (/\.html?$/i.test(path) && !others.includes(path)) return;
  throw new ConfigError('USAGE', `${path} is not the name of an HTML file`, {
    hint: 'let it end in .html: foliopipe report --output report.html',
  });
}
