/** How many records a new run sends ahead, alone (`chunks.canary`). */
import { isDeepStrictEqual } from 'node:util';
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import type { Source } from '../types.js';

/**
 * With `auto`: some on the pipeline's first run on this service, and where the source's header is not that of the
 * last run that was done; else none.
 * @param reader undefined where there is no state yet.
 */
export async function canaryRecords(
  { pipeline, chunks: { canary } }: Pick<Config, 'pipeline' | 'chunks'>,
  service: string,
  source: Pick<Source, 'columns'>,
  reader: Pick<CheckpointReader, 'runs'> | undefined,
): Promise<number> {
  if (canary !== 'auto') return canary;
  const runs = (await reader?.runs(pipeline)) ?? [];
  const before = runs.find((run) => run.service === service && run.state === 'done');
  const isKnown = before !== undefined && isDeepStrictEqual(before.source.columns, source.columns);
  return isKnown ? 0 : automaticCanary;
}

const automaticCanary = 200;
