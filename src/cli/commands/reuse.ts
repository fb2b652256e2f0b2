/** `foliopipe reuse`: shows, prunes, forgets and imports the stored answers that later runs take. */
import type { Command } from 'commander';
import { ConfigError, forgetReuse, importReuse, pruneReuse, showReuse } from '../../../pipelines/index.js';
import { countOf } from '../../quantities.js';
import { type CommonOptions, collect, readConfig, withCommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { isConfirmed, isInteractive } from '../init/ask.js';
import { print, printList, printResult } from '../output.js';
import { warnOfMove } from '../session.js';
import { withStopSignal } from '../stop-signals.js';
import { forgottenText, importedText, prunedText, shownText } from '../texts/answers-text.js';
import { parseAge, parseInstant } from '../time-options.js';

export function addReuse(command: Command): void {
  addShow(command);
  addPrune(command);
  addForget(command);
  addImport(command);
}

function addShow(reuse: Command): void {
  const command = reuse
    .command('show')
    .description('list the stored answers: whose, how many, how old, and whether a run would take them')
    .argument('[file]', 'config file');
  withCommonOptions(command).action(async (file: string | undefined, options: CommonOptions) => {
    const config = await readConfig(options, file, 'address');
    await warnOfMove(config);
    const shown = await showReuse(config);
    const { segments, taken, all } = shown;
    await printList(options, 'segment', segments, { taken, all, exitCode: 0 }, shownText(shown, config));
  });
}

interface PruneOptions extends CommonOptions {
  readonly dryRun?: boolean;
}

function addPrune(reuse: Command): void {
  const command = reuse
    .command('prune')
    .description(
      'remove the answers of this pipeline that are too old for a run; every run does this at its end',
    )
    .argument('[file]', 'config file')
    .option('--dry-run', 'only show what would be removed');
  withCommonOptions(command).action(async (file: string | undefined, options: PruneOptions) => {
    const config = await readConfig(options, file, 'address');
    const { dryRun = false } = options;
    const pruned = await pruneReuse(config, { dryRun });
    await printResult(options, { ...pruned, dryRun, exitCode: 0 }, prunedText(pruned, config, dryRun));
  });
}

interface ForgetFlags extends CommonOptions {
  readonly run?: string;
  readonly key?: readonly string[];
  readonly olderThan?: string;
  readonly all?: boolean;
  readonly yes?: boolean;
}

function addForget(reuse: Command): void {
  const command = reuse
    .command('forget')
    .description('give up stored answers, so that their records are bought again; asks on a terminal')
    .argument('[file]', 'config file')
    .option('--run <run>', 'the answers of a run or an import: an id, the beginning of one, or last')
    .option(
      '--key <value>',
      'the answer of one record of the source, by its value in the column that source.key names; for several columns, a line of CSV; repeatable',
      collect,
    )
    .option('--older-than <time>', 'the answers that were paid for longer ago than this, such as 30d')
    .option('--all', 'every answer of every pipeline in the state')
    .option('--yes', 'do not ask');
  withCommonOptions(command).action(async (file: string | undefined, options: ForgetFlags) => {
    const what = whatToForget(options);
    const config = await readConfig(options, file, 'address');
    const question = `Forget ${answersText(options)}? Their records are bought again.`;
    const mayAsk = !options.yes && !options.json && isInteractive();
    if (mayAsk && !(await isConfirmed(question, 'nothing was forgotten'))) {
      await print('nothing was forgotten\n');
      return;
    }
    const logger = createLogger(options);
    const forgotten = await withStopSignal((signal) => forgetReuse(config, { signal, logger, what }));
    await printResult(options, { ...forgotten, exitCode: 0 }, forgottenText(forgotten, config));
  });
}

function answersText({ run, key, olderThan }: ForgetFlags): string {
  if (run !== undefined) return `the answers of ${run}`;
  if (key !== undefined) return `the answers of ${countOf(key.length, 'key')}`;
  if (olderThan !== undefined) return `the answers that were paid for more than ${olderThan} ago`;
  return 'every answer of every pipeline in the state';
}

/** @throws ConfigError `USAGE` unless exactly one of the flags is given. */
function whatToForget({ run, key, olderThan, all }: ForgetFlags): Parameters<typeof forgetReuse>[1]['what'] {
  const chosen = [
    ...(run === undefined ? [] : [{ run }]),
    ...(key === undefined ? [] : [{ keys: key }]),
    ...(olderThan === undefined ? [] : [{ olderThan: parseAge(olderThan) }]),
    ...(all ? [{ all } as const] : []),
  ];
  const [what, ...others] = chosen;
  if (what !== undefined && others.length === 0) return what;
  throw new ConfigError('USAGE', 'reuse forget needs one of --run, --key, --older-than and --all', {
    hint: 'see what is stored with: foliopipe reuse show',
  });
}

interface ImportFlags extends CommonOptions {
  readonly paidAt?: string;
  readonly columns?: readonly string[];
  readonly encoding?: string;
  readonly delimiter?: string;
}

function addImport(reuse: Command): void {
  const command = reuse
    .command('import')
    .description(
      'import answers that were bought before: an enriched output, or any CSV with sent columns and answers',
    )
    .argument('<csv>', 'the file of answers')
    .argument('[file]', 'config file')
    .option(
      '--paid-at <date>',
      "when they were paid for, such as 2026-10-31; default: the manifest's or the file's time",
    )
    .option(
      '--columns <list>',
      "the answers' columns, such as naics_code=code: first the service's name, then the file's; repeatable",
      collect,
    )
    .option('--encoding <name>', 'as source.encoding; default: auto')
    .option('--delimiter <character>', 'as source.delimiter; default: auto');
  withCommonOptions(command).action(async (path: string, file: string | undefined, options: ImportFlags) => {
    const { encoding, delimiter } = options;
    const given = {
      path,
      paidAt: options.paidAt === undefined ? undefined : parseDate(options.paidAt),
      columns: options.columns && parseColumns(options.columns.join(',')),
      encoding,
      delimiter,
    };
    const config = await readConfig(options, file, 'address');
    const logger = createLogger(options);
    const imported = await withStopSignal((signal) => importReuse(config, { signal, logger, ...given }));
    await printResult(options, { ...imported, exitCode: 0 }, importedText(imported, config));
  });
}

/** A date means its beginning in UTC, so that no answer is taken to be younger than it is. */
function parseDate(text: string): number {
  const time = parseInstant(/^[\d-]+$/.test(text) ? `${text}T00:00:00Z` : text);
  if (time === undefined) {
    throw new ConfigError('USAGE', `--paid-at ${text}: expected a date or a time with its zone`, {
      hint: 'such as 2026-10-31 or 2026-10-31T03:10:00Z',
    });
  }
  if (time > Date.now()) {
    throw new ConfigError('USAGE', `--paid-at ${text} is in the future`, {
      hint: 'name the day of the purchase',
    });
  }
  return time;
}

function parseColumns(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => {
    const [name = '', column = name] = pair.split('=').map((part) => part.trim());
    return [name, column] as const;
  });
  const names = new Set(pairs.map(([name]) => name));
  if (names.size === pairs.length && !pairs.some((pair) => pair.includes('')))
    return Object.fromEntries(pairs);
  throw new ConfigError('USAGE', `--columns ${text}: expected names, each once`, {
    hint: 'such as --columns naics_code=code,naics_title=title',
  });
}
