/** What a rehearsal says before it begins: that it is one, what will happen, and where everything is. */
import type { Config, Logger } from '../../../pipelines/index.js';
import { countOf, formatSpan } from '../format.js';
import type { Scene } from './scene.js';

/**
 * @param config the rehearsal's, with its own places.
 * @param isOver the trouble was in an earlier process.
 */
export function tellScene(logger: Logger, scene: Scene, config: Config, isOver: boolean): void {
  const { name, timeScale } = scene;
  const { stateDir, output } = config;
  logger.info(
    { type: 'rehearsal', scene: name, isOver, timeScale, stateDir, output: output.path },
    `rehearsal ${name}: the local service answers, nothing is paid, the real state and output are not touched`,
  );
  const time = timeScale === 1 ? '' : `; 60 minutes last ${formatSpan(hourMs / timeScale)}`;
  logger.info({}, `${isOver ? 'the trouble is over, the service behaves' : scene.happens}${time}`);
  logger.info({}, `state in ${stateDir}, output ${output.path}`);
}

/** Says where the source is sent in smaller pieces than the user's own config would have it. */
export function tellPieces(logger: Logger, scene: Scene, config: Config, own: Config, chunks: number): void {
  const { maxRecords } = config.chunks;
  const { folios } = config.concurrency;
  if (maxRecords === own.chunks.maxRecords && folios === own.concurrency.folios) return;
  const few = chunks < scene.leastChunks ? '; too few for all of the trouble to be seen' : '';
  logger.info(
    { chunks, maxRecords, folios },
    `sent as ${countOf(chunks, 'chunk')}, so that the trouble comes in the middle: chunks.maxRecords is ${maxRecords}, concurrency.folios ${folios}${few}`,
  );
}

const hourMs = 3_600_000;
