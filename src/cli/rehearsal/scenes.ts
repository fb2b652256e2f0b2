/** The scenes that can be rehearsed: a table; docs/rehearsals has a page on each. */
import { type Config, ConfigError, type Logger, type Milliseconds } from '../../../pipelines/index.js';
import { countOf, formatDuration } from '../../quantities.js';

const minute: Milliseconds = 60_000;
const leastChunks = 8;

/** As `parseFaults` reads a span. */
const span = (time: Milliseconds) => `${Math.ceil(time)}ms`;

/** What is rehearsed without a scene. */
export const plainScene: Scene = {
  name: 'plain',
  purpose: 'no trouble',
  happens: 'the service behaves',
  timeScale: 1,
  lasts: 0,
  leastChunks: 0,
  rules: () => [],
};

export const scenes: readonly Scene[] = [
  {
    name: 'drain-0310',
    purpose: 'the node is drained in the middle of the run',
    happens:
      'when half of the chunks are finished, this process gets a SIGTERM, as a drained Kubernetes node sends it',
    timeScale: 600,
    lasts: 10 * minute,
    leastChunks,
    rules: () => [],
    signal: 'SIGTERM',
  },
  {
    name: 'seven-percent-failed',
    purpose: 'the service fails 7 % of the records',
    happens:
      '7 % of the records come back as FAILED, beside the one in fifty that the local service never knows',
    timeScale: 600,
    lasts: 10 * minute,
    leastChunks,
    rules: () => [{ on: 'upload', fault: { fail: '7%' } }],
  },
  {
    name: 'outage-40min',
    purpose: 'the service is away for 40 minutes',
    happens: 'from the middle on, every request is answered with 503 and an HTML page for 40 minutes',
    timeScale: 600,
    lasts: 20 * minute,
    leastChunks,
    rules: ({ time }) => [
      { between: { after: span(time), until: span(time + 40 * minute) }, fault: { status: 503, html: true } },
    ],
  },
  {
    name: 'columns-changed',
    purpose: 'the service renames a result column between two folios',
    happens: 'from the middle on, the results come with the column naics_code renamed to code',
    timeScale: 600,
    lasts: 10 * minute,
    leastChunks,
    rules: ({ chunk }) => [
      { on: 'download', folio: { from: chunk }, fault: { columns: { rename: { naics_code: 'code' } } } },
    ],
  },
  {
    name: 'one-folio-stuck',
    purpose: 'one folio never finishes',
    happens: 'one folio stays PROCESSING for ever; the run waits for it as long as poll.timeout says',
    timeScale: 3600,
    lasts: 60 * minute,
    leastChunks,
    rules: ({ chunk }) => [{ folio: chunk, fault: { neverFinishes: true } }],
  },
  {
    name: 'token-revoked',
    purpose: 'the token is revoked in the middle of the run',
    happens: 'from the middle on, every request is answered with 401',
    timeScale: 600,
    lasts: 20 * minute,
    leastChunks,
    rules: ({ time }) => [{ between: { after: span(time) }, fault: { status: 401 } }],
  },
  {
    name: 'lost-reply',
    purpose: 'an upload is accepted, but its reply is lost',
    happens:
      'the service takes an upload in the middle, and the connection is closed before the folio is told',
    timeScale: 600,
    lasts: 10 * minute,
    leastChunks,
    rules: ({ chunk }) => [{ on: 'upload', calls: chunk, fault: { cut: 'after-accepting' } }],
  },
];

/** @param name `true` without one. @throws ConfigError `SCENE_UNKNOWN` that lists them all. */
export function findScene(name: string | true): Scene {
  if (name === true) return plainScene;
  const scene = scenes.find((one) => one.name === name);
  if (scene !== undefined) return scene;
  const width = Math.max(...scenes.map((one) => one.name.length));
  const list = scenes.map((one) => `\n  ${one.name.padEnd(width)}  ${one.purpose}`).join('');
  throw new ConfigError('SCENE_UNKNOWN', `--rehearse: there is no scene ${name}; there are:${list}`, {
    hint: 'foliopipe run FILE --rehearse SCENE: a word behind --rehearse is taken for a scene, so the file comes first',
  });
}

// A scene: one night's trouble as data, played to the user's own config.

/** Where the middle of a run lies, so that the trouble comes neither too early nor too late. */
export interface Middle {
  /** 1-based place among the chunks; the folios of a fresh service are numbered likewise. */
  readonly chunk: number;
  /** The service's time since its start, at which it has worked on half of the source. */
  readonly time: Milliseconds;
}

export interface Scene {
  readonly name: string;
  /** A line of the list of scenes. */
  readonly purpose: string;
  /** What will happen, told when it begins. */
  readonly happens: string;
  /** How many seconds of the night pass in one of ours. */
  readonly timeScale: number;
  /** How long the service works on the whole source, in the night's time; 0: as fast as it goes. */
  readonly lasts: Milliseconds;
  /** Chunks that it takes for the trouble to be seen; 0: as the config cuts the source. */
  readonly leastChunks: number;
  /** How the service misbehaves, as `parseFaults` takes it (docs/faults.md). */
  readonly rules: (middle: Middle) => readonly object[];
  /** Sent to this process when the folio in the middle is finished. */
  readonly signal?: 'SIGTERM';
}

// What a rehearsal says before it begins: that it is one, what will happen, and where everything is.

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
  const time = timeScale === 1 ? '' : `; 60 minutes last ${formatDuration(hourMs / timeScale)}`;
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
