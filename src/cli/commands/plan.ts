/** `foliopipe plan`: shows what a run would do, without using the network. */
import type { Command } from 'commander';
import {
  type Config,
  givenUpText,
  type Logger,
  limitText,
  type Plan,
  plan,
  unconfirmedText,
} from '../../../pipelines/index.js';
import { countOf, formatAmount, formatBytes, formatCount, formatShare } from '../../quantities.js';
import { escapeUnprintable, presentTexts } from '../../text.js';
import {
  type BeginOptions,
  beginOptions,
  type CommonOptions,
  type Finish,
  readConfig,
  withBeginOptions,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { openProgress } from '../display/progress.js';
import { createCommandTerminal } from '../display/terminal.js';
import { print, printJson, standardInput, stdout } from '../output.js';
import { withStopSignal } from '../stop-signals.js';
import { asStarted, nextSteps } from '../texts/next-steps.js';
import { previewLines } from '../texts/preview-text.js';
import { reuseText } from '../texts/reuse-text.js';

interface Options extends CommonOptions, BeginOptions {}

export function addPlan(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file').option('--new', 'plan for a new run');
  withOutputOptions(withConfigOptions(withBeginOptions(command))).action(
    async (file: string | undefined, options: Options) => {
      finish(await printPlan(options, file));
    },
  );
}

export async function printPlan(options: Options, file: string | undefined): Promise<number> {
  const config = await readConfig(options, file, 'preview');
  const made = await makePlan(config, options);
  const exitCode = made.next.kind === 'changed' ? 4 : 0;
  if (options.json) await printJson('summary', { ...made, exitCode });
  else {
    const doubt = unconfirmedText(config);
    await print(
      asStarted(`${planText(made, options.new === true)}${doubt === undefined ? '' : `  ${doubt}\n`}`),
    );
  }
  return exitCode;
}

/** Makes the plan, and shows the progress of the check of the source meanwhile. */
async function makePlan(config: Config, options: Options): Promise<Plan> {
  const terminal = createCommandTerminal(options);
  const logger = createLogger(options, terminal);
  const progress = openProgress({ json: false, logger, terminal });
  try {
    return await withStopSignal((signal) =>
      plan(config, {
        signal,
        logger: onlyWarnings(logger),
        stdin: standardInput,
        onProgress: progress.onProgress,
        ...beginOptions(options),
      }),
    );
  } finally {
    progress.close();
  }
}

/** The plan itself holds what would be logged at the level info. */
function onlyWarnings(logger: Logger): Logger {
  const silent = () => undefined;
  return { debug: silent, info: silent, warn: logger.warn.bind(logger), error: logger.error.bind(logger) };
}

/** @param isNew whether the plan is for `--new`. */
function planText(
  {
    pipeline,
    service,
    source,
    asked,
    output,
    maxRejected,
    chunks,
    preview,
    reuse,
    next,
    cost,
    budget,
    disks,
  }: Plan,
  isNew: boolean,
): string {
  const files = source.files.map(({ path, name = path, bytes, records, dialect }) => {
    const { encoding, delimiter, newline, gzip, bom, quote, skippedBytes } = dialect;
    const format = presentTexts([
      encoding,
      bom && 'BOM',
      `delimiter ${JSON.stringify(delimiter)}`,
      newline,
      quote === 'none' && 'quotes are text',
      skippedBytes ? `${formatBytes(skippedBytes)} skipped at the beginning` : undefined,
      gzip && 'gzip',
    ]);
    return `  ${escapeUnprintable(name)}: ${countOf(records, 'record')}, ${formatBytes(bytes)}, ${format.join(', ')}`;
  });
  const lines = presentTexts([
    `pipeline ${pipeline}, service ${service ?? 'not given yet (service.baseUrl)'}`,
    'source',
    ...files,
    asked && '  it was copied for this plan, and the copy is removed: foliopipe run reads the source again',
    `  ${countOf(source.columns.length, 'column')}: ${source.columns.map((column) => escapeUnprintable(column)).join(', ')}`,
    source.limit !== undefined &&
      `  a sample: only the first ${countOf(source.records, 'record')} of the source were checked (--limit ${source.limit})`,
    ...rejectLines(source, maxRejected),
    `output\n  ${escapeUnprintable(output)}`,
    ...(reuse === null ? [] : ['reuse', ...reuseLines(reuse).map((line) => `  ${line}`)]),
    `chunks\n  ${chunksText(chunks, next)}`,
    ...(next.chunks > 0
      ? [
          'first records, as they are sent',
          ...previewLines(preview, stdout.columns).map((line) => `  ${line}`),
        ]
      : []),
    `cost\n  ${costText(cost, next)}`,
    ...(budget.length > 0 ? ['budget', ...budget.map((cap) => `  ${budgetText(cap, next.records)}`)] : []),
    ...(disks.length > 0 ? ['disk', ...disks.map((disk) => `  ${diskText(disk)}`)] : []),
    `next\n  ${nextSteps(nextText(next, isNew, reuse))}`,
    ...givesUpLines(next, isNew, reuse?.unkept ?? 0),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Tells the chunks that a run would upload from those that it has uploaded. */
function chunksText({ count, records, bytes }: Plan['chunks'], { chunks }: Plan['next']): string {
  const all = `${countOf(count, 'chunk')} with ${countOf(records, 'record')}, ${formatBytes(bytes)}`;
  if (chunks === 0) return `${all} in all, nothing to upload`;
  return chunks === count ? `${all} to upload` : `${all} in all, ${countOf(chunks, 'chunk')} to upload`;
}

function diskText({ folder, what, needed, free }: Plan['disks'][number]): string {
  const has = free === null ? '' : `, ${formatBytes(free.bytes)} free`;
  return `${escapeUnprintable(folder)}: about ${formatBytes(needed.bytes)} for ${what}${has}`;
}

function costText(cost: Plan['cost'], { kind }: Plan['next']): string {
  if (kind === 'changed') return 'nothing: foliopipe run would not go on';
  return cost === null
    ? 'unknown: set budget.pricePerRecord'
    : `${formatAmount(cost.amount)} ${cost.currency}`;
}

function rejectLines({ records, rejected, blank = 0 }: Plan['source'], limit: Plan['maxRejected']): string[] {
  if (rejected + blank === 0) return [];
  const kinds = presentTexts([
    rejected > 0 && `${countOf(rejected, 'bad record')} would be rejected`,
    blank > 0 && `${countOf(blank, 'blank record')} would not be sent (upload.skipBlank)`,
  ]);
  return [
    `  ${kinds.join(', ')}: ${formatShare(rejected + blank, records)}, and source.maxRejected is ${limitText(limit)}`,
  ];
}

function reuseLines(reuse: NonNullable<Plan['reuse']>): string[] {
  const { reused, duplicates, sent, outdated, equal, unkept, stops } = reuse;
  return presentTexts([
    reuseText(
      { reused: reused.successful + reused.failed, duplicates, sent, outdated, saved: reuse.saved },
      { isReal: false, isSent: false },
    ),
    equal > 0 &&
      `${countOf(equal, 'record')} to send ${equal === 1 ? 'is' : 'are'} equal to an earlier one: upload.duplicates: once sends each only once`,
    unkept > 0 &&
      `the answers of ${countOf(unkept, 'earlier run')} are not in the store yet: the run adds them first where it can, and may send fewer records`,
    stops !== null &&
      `more than reuse.maxMiss is new: the run ${unkept > 0 ? `ends with ${stops}, exit 9, unless those answers change it` : `would end with ${stops}, exit 9`}`,
  ]);
}

function budgetText({ cap, limit, spent, left }: Plan['budget'][number], records: number): string {
  const state = `${cap}: ${formatCount(spent)} of ${countOf(limit, 'record')} spent`;
  if (records <= left) return `${state}, enough is left`;
  if (cap === 'perRun') return `${state}: too small for this run, which would end with exit 9`;
  return left === 0
    ? `${state}: the run would send nothing and end with exit 9`
    : `${state}: the run would stop after at most ${countOf(left, 'record')} with exit 9`;
}

/**
 * The cost of giving up an unfinished run for the new one.
 * @param unkept earlier runs whose answers are not in the store yet, because not all of them are joined.
 */
function givesUpLines({ givesUp }: Plan['next'], isNew: boolean, unkept: number): string[] {
  if (givesUp === null) return [];
  if (!isNew) {
    return [
      `  unfinished run ${givesUp.run} has another source: its open folios are collected first, then it is closed (source.onChange: supersede). As it stands: ${givenUpText(givesUp)}`,
    ];
  }
  return presentTexts([
    `  it gives up unfinished run ${givesUp.run}: ${givenUpText(givesUp)}`,
    givesUp.needsYes && '  so foliopipe run --new ends with exit 2; --yes passes',
    givesUp.boughtAgain === null &&
      givesUp.collected.chunks > 0 &&
      unkept > 0 &&
      '  foliopipe run --new joins these answers to their records first: those that cannot be joined are bought again, which it asks about (exit 2; --yes passes)',
  ]);
}

function nextText(
  { kind, run, chunks, records, perhaps, publishedAgain, released }: Plan['next'],
  isNew: boolean,
  reuse: Plan['reuse'],
): string {
  const rest = `${countOf(chunks, 'chunk')}, ${countOf(records, 'record')} to send`;
  const doubt =
    perhaps === 0
      ? ''
      : `; ${countOf(perhaps, 'record')} may have been accepted already: foliopipe status names the files`;
  switch (kind) {
    case 'begin':
      return beginText(isNew, rest, reuse);
    case 'continue':
      return `foliopipe run goes on with run ${run}: ${chunks > 0 ? rest : 'nothing is left to send; foliopipe status says what is left to do'}${doubt}`;
    case 'done':
      if (released) {
        return `run ${run} has done this source already and is withheld: foliopipe run would send nothing, and publish its output: ${released}`;
      }
      return `run ${run} has done this source already; foliopipe run would send nothing${publishedAgain ? `, and publish it again: ${publishedAgain}` : ''}`;
    case 'withheld':
      return `run ${run} has done this source already and is withheld: foliopipe run would send nothing and end with exit 9; foliopipe publish ${run} publishes its output`;
    case 'changed':
      return `run ${run} is unfinished and its source has changed: foliopipe run would send nothing, end with exit 4, and say what each way to go on costs; putting the source back costs nothing`;
  }
}

/** If `reuse.maxMiss` would stop the run, names the command that buys what is new anyway. */
function beginText(isNew: boolean, rest: string, reuse: Plan['reuse']): string {
  const command = `foliopipe run${isNew ? ' --new' : ''}`;
  if (reuse?.stops == null) return `${command} begins a new run: ${rest}`;
  const without =
    reuse.unkept > 0
      ? `first look at what ${command} without --yes adds and says`
      : `without --yes it ends with ${reuse.stops}, exit 9`;
  return `${command} --yes begins a new run and buys what is new: ${rest}; ${without}`;
}
