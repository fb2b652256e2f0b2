/** `run --rehearse [scene]`: the user's own job against the local service, with the trouble of a bad night. */
import type { Command } from 'commander';
import { type AtFailpoint, type Config, ConfigError, planRun, type Run } from '../../../pipelines/index.js';
import type { CommonOptions } from '../common-options.js';
import type { Prepared, SetUp, SetUpNeeds } from '../session.js';
import { takeUpLast } from './last-rehearsal.js';
import {
  rehearsedFolios,
  rehearsedMaxRecords,
  relocate,
  type SourceSize,
  shorten,
  workLasts,
} from './rehearsal-config.js';
import { findScene, type Scene, scenes, tellPieces, tellScene } from './scenes.js';

export interface RehearseOptions extends CommonOptions {
  /** `true` without a scene. */
  readonly rehearse?: string | true;
  readonly new?: boolean;
  readonly dryRun?: boolean;
}

export function withRehearseOption(command: Command): Command {
  return command.option(
    '--rehearse [scene]',
    `the same job against the local service, with a state and an output of its own; with a scene, in a bad night: ${scenes.map(({ name }) => name).join(', ')}`,
  );
}

/** The options of a rehearsal: whatever the config says of the service, the local one answers. */
export function rehearsalOptions<T extends RehearseOptions>(options: T): T {
  if (options.rehearse === undefined) return options;
  return { ...options, set: [...(options.set ?? []), 'service.embedded=true'] };
}

/**
 * What a session does in place of the real job; undefined without `--rehearse`.
 * @throws ConfigError for an unknown scene, and beside `--dry-run`.
 */
export function rehearsalSetUp(options: RehearseOptions): SetUp | undefined {
  if (options.rehearse === undefined) return undefined;
  const scene = findScene(options.rehearse);
  if (options.dryRun) {
    throw new ConfigError('USAGE', '--dry-run and --rehearse cannot stand together', {
      hint: 'leave out --dry-run: a rehearsal pays nothing either',
    });
  }
  return (config, needs) => setUpScene(scene, config, options.new === true, needs);
}

async function setUpScene(scene: Scene, own: Config, fresh: boolean, needs: SetUpNeeds): Promise<Prepared> {
  const moved = relocate(own, scene);
  const unfinished = await takeUpLast(moved, fresh, needs);
  const isOver = unfinished !== undefined;
  tellScene(needs.logger, scene, moved, isOver);
  const began = performance.now();
  const size = isOver ? sizeOf(unfinished) : await measure(moved, needs.signal);
  // The run checks the source once more before it begins, and the service's time passes meanwhile.
  const checkedFor = (performance.now() - began) * scene.timeScale;

  const maxRecords = rehearsedMaxRecords(own.chunks.maxRecords, size.records, scene);
  const chunks = Math.max(size.chunks, Math.ceil(size.records / maxRecords));
  const folios = rehearsedFolios(own.concurrency.folios, chunks, scene);
  const config = shorten(
    {
      ...moved,
      chunks: { ...own.chunks, maxRecords },
      concurrency: { ...own.concurrency, folios },
    },
    scene,
  );
  const lasts = workLasts(scene, size.records);
  const middle = { chunk: Math.max(1, Math.floor(chunks / 2)), time: checkedFor + lasts / 2 };
  tellPieces(needs.logger, scene, config, own, chunks);
  const { parseFaults } = await import('../../service/faults/read-faults.js');
  return {
    config,
    service: {
      predictor: 'hash',
      recordsPerSecond: lasts === 0 ? 0 : (1000 * size.records) / lasts,
      timeScale: scene.timeScale,
      ...(!isOver && { faults: parseFaults({ rules: scene.rules(middle) }) }),
    },
    ...(!isOver && scene.signal && { at: signalInMiddle(scene.signal, middle.chunk) }),
  };
}

async function measure(config: Config, signal: AbortSignal): Promise<SourceSize> {
  const { chunks } = await planRun(config, { signal, fresh: true });
  return { records: chunks.records, chunks: chunks.count };
}

/** As it was when the run began: what has changed since is for the run to find. */
function sizeOf({ source, chunks }: Run): SourceSize {
  return { records: source.records - source.rejected, chunks: chunks ?? 0 };
}

/** @param nth the folio, in the order in which they finish. */
function signalInMiddle(signal: 'SIGTERM', nth: number): AtFailpoint {
  let finished = 0;
  return (point) => {
    if (point !== 'after-finished-before-download') return;
    finished += 1;
    if (finished === nth) process.kill(process.pid, signal);
  };
}
