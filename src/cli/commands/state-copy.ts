/** `foliopipe state copy`: copies the state from a folder into a database, or back. */
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import {
  type Config,
  ConfigError,
  type CopiedState,
  copyState,
  readStatePlace,
} from '../../../pipelines/index.js';
import { secretsOf } from '../../hide-secrets.js';
import { movedHint } from '../../hints.js';
import { countOf, formatBytes, formatCount } from '../../quantities.js';
import { presentTexts } from '../../text.js';
import { type CommonOptions, lockHolder, readConfig, withCommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { printResult } from '../output.js';
import { rememberSecrets } from '../redact.js';
import { withStopSignal } from '../stop-signals.js';

interface CopyFlags extends CommonOptions {
  readonly from?: string;
  readonly to?: string;
  readonly files?: string;
}

export function addStateCopy(state: Command): void {
  const command = state
    .command('copy')
    .description(
      'copy the state from a folder into Postgres, or back; afterwards runs continue only in the copy',
    )
    .argument('[file]', 'config file')
    .option(
      '--from <place>',
      `a folder, or a database such as '\${STATE_URL}'; default: the state of the config`,
    )
    .option('--to <place>', 'as --from; it must hold no state yet; default: the state of the config')
    .option(
      '--files <place>',
      'where the database keeps files, as in the config: postgres, or file:///mnt/share/foliopipe',
    );
  withCommonOptions(command).action(async (file: string | undefined, options: CopyFlags) => {
    const config = await readConfig(options, file, 'nothing');
    const { from, to } = placesOf(options, config);
    const places = [from, to].flatMap(({ state }) => state?.secrets() ?? []);
    rememberSecrets([...secretsOf(config), ...places]);
    const logger = createLogger(options);
    const copied = await withStopSignal((signal) =>
      copyState({ from, to, pipeline: config.pipeline, signal, logger, holder: lockHolder() }),
    );
    await printResult(options, { ...copied, exitCode: 0 }, copiedText(copied));
  });
}

/** @throws ConfigError `USAGE`. */
function placesOf({ from, to, files }: CopyFlags, config: Config) {
  if (from === undefined && to === undefined) {
    throw new ConfigError('USAGE', 'state copy needs --from or --to', {
      hint: `name the other state: a folder, or a database by a variable, such as --to '\${STATE_URL}'`,
    });
  }
  const own = config.files === null ? 'postgres' : pathToFileURL(config.files).href;
  const read = (flag: string, text: string) =>
    readStatePlace(text, {
      flag,
      env: process.env,
      cwd: process.cwd(),
      files: files ?? own,
      scratchDir: config.stateDir,
    });
  return {
    from: from === undefined ? config : read('--from', from),
    to: to === undefined ? config : read('--to', to),
  };
}

function copiedText({ from, to, tables, parts, answers }: CopiedState): string {
  const rowsOf = (table: string) => tables.find((one) => one.table === table)?.rows ?? 0;
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const lost = [...parts.lost, ...answers.lost];
  return `${presentTexts([
    `copied: ${countOf(rowsOf('runs'), 'run')}, ${countOf(rowsOf('uploads'), 'upload')}, ${countOf(rows, 'row')} in all; ${countOf(parts.files, 'part')} (${formatBytes(parts.bytes)}), ${countOf(answers.files, 'file')} of stored answers and deltas (${formatBytes(answers.bytes)}); every one was compared`,
    lost.length > 0 && `${formatCount(lost.length)} missing in ${from}, such as ${lost[0]}`,
    `the state is in ${to} now. ${from} can still be read; nothing is sent from it any more (STATE_MOVED)`,
    `next: ${movedHint(to)}, then: foliopipe status`,
  ]).join('\n')}\n`;
}
