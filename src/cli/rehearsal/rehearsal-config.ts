/** The user's config as it is rehearsed: pure. What is sent, and how, stays theirs; places and times do not. */
import { basename, dirname, join } from 'node:path';
import type { Config, Milliseconds } from '../../../pipelines/index.js';
import type { Scene } from './scenes.js';

/** How large the source is, cut as the config says. */
export interface SourceSize {
  readonly records: number;
  readonly chunks: number;
}

/**
 * With a state and an output of its own. The state's folder is named after the pipeline too, since a state
 * folder may hold several; the output keeps its file name, in a folder beside the real one's, so that whatever
 * waits for the real output sees nothing.
 */
export function relocate(config: Config, { name }: Pick<Scene, 'name'>): Config {
  const { path } = config.output;
  return {
    ...config,
    stateDir: join(config.stateDir, 'rehearsal', `${name}-${config.pipeline}`),
    output: { ...config.output, path: join(dirname(path), `rehearsal-${name}`, basename(path)) },
  };
}

/** Records of a chunk: at most so many that the scene gets its chunks. The same for the same source. */
export function rehearsedMaxRecords(
  own: number,
  records: number,
  { leastChunks }: Pick<Scene, 'leastChunks'>,
): number {
  return leastChunks === 0 ? own : Math.min(own, Math.max(1, Math.floor(records / leastChunks)));
}

/** Open folios: at most a quarter of the chunks, so that not all are bought before the trouble comes. */
export function rehearsedFolios(
  own: number,
  chunks: number,
  { leastChunks }: Pick<Scene, 'leastChunks'>,
): number {
  return leastChunks === 0 ? own : Math.min(own, Math.max(1, Math.floor(chunks / 4)));
}

/**
 * How long the service works on the source, in the night's time: for a large one as long as this machine would
 * need anyway, so that the middle is where it is thought to be.
 */
export function workLasts(
  { lasts, timeScale }: Pick<Scene, 'lasts' | 'timeScale'>,
  records: number,
): Milliseconds {
  return lasts === 0 ? 0 : Math.max(lasts, (1000 * timeScale * records) / mostPerSecond);
}

/** Records that client and service together surely get through in one of our seconds. */
const mostPerSecond = 25_000;

/**
 * The client's time runs as fast as the service's. Not so `timeouts`: they measure what really passes between
 * the two, on this machine.
 */
export function shorten(config: Config, { timeScale }: Pick<Scene, 'timeScale'>): Config {
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

/** A shorter wait would only keep the processor busy. */
const shortestMs = 10;
