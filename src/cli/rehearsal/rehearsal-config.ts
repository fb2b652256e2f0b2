/** Changes the user's config for a rehearsal. The sent data stays the same; paths, times and chunk sizes change. */
import { basename, dirname, join } from 'node:path';
import { type Config, isS3, type Milliseconds } from '../../../pipelines/index.js';
import type { Scene } from './scenes.js';

/** The size of the source in records, and in chunks as the config cuts them. */
export interface SourceSize {
  readonly records: number;
  readonly chunks: number;
}

/**
 * Gives the rehearsal its own state and output. The state is a folder on this machine, even if the real one is in a
 * database. Its name holds the pipeline, because a state may hold several. The output keeps its file name, in a folder
 * beside the real output, so that programs that wait for the real output do not see it. If the real output is at s3://,
 * that folder is in the rehearsal's state. A rehearsal loads nothing and writes no report.
 */
export function relocate(config: Config, { name }: Pick<Scene, 'name'>): Config {
  const { path } = config.output;
  const stateDir = join(config.stateDir, 'rehearsal', `${name}-${config.pipeline}`);
  const folder = isS3(path) ? join(stateDir, 'output') : join(dirname(path), `rehearsal-${name}`);
  return {
    ...config,
    state: null,
    files: null,
    stateDir,
    output: { ...config.output, path: `${join(folder, basename(path))}${path.endsWith('/') ? '/' : ''}` },
    load: null,
    report: { ...config.report, html: null },
  };
}

/** `chunks.maxRecords`, lowered so that the scene gets enough chunks. Always the same for the same source. */
export function rehearsedMaxRecords(
  own: number,
  records: number,
  { minChunks }: Pick<Scene, 'minChunks'>,
): number {
  return minChunks === 0 ? own : Math.min(own, Math.max(1, Math.floor(records / minChunks)));
}

/** Limits open folios to a quarter of the chunks, so that not all are bought before the trouble begins. */
export function rehearsedFolios(
  own: number,
  chunks: number,
  { minChunks }: Pick<Scene, 'minChunks'>,
): number {
  return minChunks === 0 ? own : Math.min(own, Math.max(1, Math.floor(chunks / 4)));
}

/**
 * How long the service works on the source, in rehearsed time. For a large source, at least as long as this machine
 * needs: otherwise half of this time would not be the middle of the work.
 */
export function workDuration(
  { duration, timeScale }: Pick<Scene, 'duration' | 'timeScale'>,
  records: number,
): Milliseconds {
  return duration === 0 ? 0 : Math.max(duration, (1000 * timeScale * records) / mostPerSecond);
}

/** Records a second that client and service process together on any machine. */
const mostPerSecond = 25_000;

/**
 * Shortens the client's waits by the factor by which the service's time is faster. `timeouts` stay, because they measure
 * real time on this machine.
 */
export function shortenTimes(config: Config, { timeScale }: Pick<Scene, 'timeScale'>): Config {
  if (timeScale === 1) return config;
  const { poll, retry, service } = config;
  const shorter = (time: Milliseconds) => Math.max(shortestMs, Math.round(time / timeScale));
  return {
    ...config,
    poll: {
      first: shorter(poll.first),
      max: shorter(poll.max),
      timeout: shorter(poll.timeout),
      lostAfter: shorter(poll.lostAfter),
    },
    retry: { first: shorter(retry.first), max: shorter(retry.max), giveUpAfter: shorter(retry.giveUpAfter) },
    service: { ...service, requestsPerSecond: service.requestsPerSecond * timeScale },
  };
}

/** A shorter wait would only use CPU. */
const shortestMs = 10;
