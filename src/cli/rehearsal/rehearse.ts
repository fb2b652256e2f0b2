/** `run --rehearse [scene]`: the user's own job against the local service, with rehearsed trouble. */
import type { Command } from 'commander';
import {
  type AtFailpoint,
  type Config,
  ConfigError,
  type Logger,
  planRun,
  type Run,
  recordsToSend,
} from '../../../pipelines/index.js';
import { countOf, formatDuration } from '../../quantities.js';
import type { CommonOptions } from '../common-options.js';
import type { PreparedRehearsal, PrepareOptions, PrepareRehearsal } from '../session.js';
import { continueOrClear } from './last-rehearsal.js';
import {
  rehearsedFolios,
  rehearsedMaxRecords,
  relocate,
  type SourceSize,
  shortenTimes,
  workDuration,
} from './rehearsal-config.js';
import { findScene, type Scene, scenes } from './scenes.js';

export interface RehearseOptions extends CommonOptions {
  /** `true` without a scene. */
  readonly rehearse?: string | true;
  readonly new?: boolean;
  readonly dryRun?: boolean;
  readonly limit?: number;
}

export function withRehearseOption(command: Command): Command {
  return command.option(
    '--rehearse [scene]',
    `the same job against the local service, with its own state and output; a scene adds trouble: ${scenes.map(({ name }) => name).join(', ')}`,
  );
}

/** The options of a rehearsal: the embedded service replaces the config's. */
export function rehearsalOptions<T extends RehearseOptions>(options: T): T {
  if (options.rehearse === undefined) return options;
  return { ...options, set: [...(options.set ?? []), 'service.embedded=true'] };
}

/**
 * The function that replaces config and service of the real job; undefined without `--rehearse`.
 * @throws ConfigError for an unknown scene, and when `--dry-run` or `--limit` is given too.
 */
export function preparationFor(options: RehearseOptions): PrepareRehearsal | undefined {
  if (options.rehearse === undefined) return undefined;
  const scene = findScene(options.rehearse);
  if (options.dryRun) {
    throw new ConfigError('USAGE', '--dry-run and --rehearse exclude each other', {
      hint: 'leave out --dry-run: a rehearsal pays nothing either',
    });
  }
  if (options.limit !== undefined) {
    throw new ConfigError('USAGE', '--limit and --rehearse exclude each other', {
      hint: 'leave out --limit: a rehearsal pays nothing, even for all records',
    });
  }
  return (config, prepareOptions) => prepareScene(scene, config, options.new === true, prepareOptions);
}

async function prepareScene(
  scene: Scene,
  own: Config,
  fresh: boolean,
  options: PrepareOptions,
): Promise<PreparedRehearsal> {
  if (own.source.path === '-') {
    throw new ConfigError(
      'USAGE',
      'a rehearsal reads its source several times, and standard input can be read only once',
      {
        hint: 'write the source to a file first (cat > FILE), and rehearse with: --source FILE',
      },
    );
  }
  const moved = relocate(own, scene);
  const unfinished = await continueOrClear(moved, fresh, options);
  const isContinued = unfinished !== undefined;
  logScene(options.logger, scene, moved, isContinued);
  const began = performance.now();
  const size = isContinued ? sizeOf(unfinished) : await measure(moved, options.signal);
  // The run checks the source again before it begins. Meanwhile the service's time passes.
  const checkTime = (performance.now() - began) * scene.timeScale;

  const maxRecords = rehearsedMaxRecords(own.chunks.maxRecords, size.records, scene);
  const chunks = Math.max(size.chunks, Math.ceil(size.records / maxRecords));
  const folios = rehearsedFolios(own.concurrency.folios, chunks, scene);
  const config = shortenTimes(
    {
      ...moved,
      chunks: { ...own.chunks, maxRecords },
      concurrency: { ...own.concurrency, folios },
    },
    scene,
  );
  const duration = workDuration(scene, size.records);
  const middle = { chunk: Math.max(1, Math.floor(chunks / 2)), time: checkTime + duration / 2 };
  logSmallerChunks(options.logger, scene, config, own, chunks);
  const { parseFaults } = await import('../../service/faults/read-faults.js');
  return {
    config,
    service: {
      predictor: 'hash',
      recordsPerSecond: duration === 0 ? 0 : (1000 * size.records) / duration,
      timeScale: scene.timeScale,
      ...(!isContinued && { faults: parseFaults({ rules: scene.rules(middle) }) }),
    },
    ...(!isContinued && scene.signal && { at: signalInMiddle(scene.signal, middle.chunk) }),
  };
}

/**
 * Logs that this is a rehearsal, what will happen, and where state and output are.
 * @param config of the rehearsal.
 * @param isContinued whether the trouble happened in an earlier process.
 */
function logScene(logger: Logger, scene: Scene, config: Config, isContinued: boolean): void {
  const { name, timeScale } = scene;
  const { stateDir, output } = config;
  logger.info(
    { type: 'rehearsal', scene: name, isOver: isContinued, timeScale, stateDir, output: output.path },
    `rehearsal ${name}: the local service answers, nothing is paid, the real state and output are not touched`,
  );
  const time = timeScale === 1 ? '' : `; 60 minutes last ${formatDuration(hourMs / timeScale)}`;
  logger.info(
    {},
    `${isContinued ? 'the trouble is over, the service behaves normally' : scene.happens}${time}`,
  );
  logger.info({}, `state in ${stateDir}, output ${output.path}`);
}

/** Logs when the source is cut into smaller chunks than the user's own config does. */
function logSmallerChunks(logger: Logger, scene: Scene, config: Config, own: Config, chunks: number): void {
  const { maxRecords } = config.chunks;
  const { folios } = config.concurrency;
  if (maxRecords === own.chunks.maxRecords && folios === own.concurrency.folios) return;
  const few = chunks < scene.minChunks ? '; too few to show all of the trouble' : '';
  logger.info(
    { chunks, maxRecords, folios },
    `sent as ${countOf(chunks, 'chunk')}, so that the trouble comes in the middle: chunks.maxRecords is ${maxRecords}, concurrency.folios ${folios}${few}`,
  );
}

const hourMs = 3_600_000;

async function measure(config: Config, signal: AbortSignal): Promise<SourceSize> {
  const { chunks } = await planRun(config, { signal, fresh: true });
  return { records: chunks.records, chunks: chunks.count };
}

/** The size when the run began. The run itself finds later changes. */
function sizeOf(run: Run): SourceSize {
  return { records: recordsToSend(run), chunks: run.chunks ?? 0 };
}

/** @param nth number of the folio, in the order in which they finish. */
function signalInMiddle(signal: 'SIGTERM', nth: number): AtFailpoint {
  let finished = 0;
  return (point) => {
    if (point !== 'after-finished-before-download') return;
    finished += 1;
    if (finished === nth) process.kill(process.pid, signal);
  };
}
