/** The scenes that can be rehearsed: a table; docs/rehearsals has a page on each. */
import { ConfigError, type Milliseconds } from '../../../pipelines/index.js';
import type { Scene } from './scene.js';

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
