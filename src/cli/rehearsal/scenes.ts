/** The scenes that can be rehearsed. docs/rehearsals has a page about each. */
import { ConfigError, type Milliseconds } from '../../../pipelines/index.js';

/** The middle of a run, where the trouble begins. */
interface Middle {
  /** 1-based number of the chunk; a fresh service numbers its folios in the same way. */
  readonly chunk: number;
  /** The service's time since its start, at which half of the source is processed. */
  readonly time: Milliseconds;
}

/** One kind of trouble, as data, which is applied to the user's config. */
export interface Scene {
  readonly name: string;
  /** What the list of scenes shows. */
  readonly purpose: string;
  /** What will happen, logged when the rehearsal begins. */
  readonly happens: string;
  /** Seconds of rehearsed time that pass in one real second. */
  readonly timeScale: number;
  /** How long the service works on the whole source, in rehearsed time; 0: no limit of speed. */
  readonly duration: Milliseconds;
  /** Number of chunks that the scene needs to show the trouble; 0: any number. */
  readonly minChunks: number;
  /** Fault rules for `parseFaults` (docs/faults.md). */
  readonly rules: (middle: Middle) => readonly object[];
  /** Sent to this process when the middle folio is finished. */
  readonly signal?: 'SIGTERM';
}

const minute: Milliseconds = 60_000;
const minChunks = 8;

/** A duration in the form that `parseFaults` reads. */
const asText = (time: Milliseconds) => `${Math.ceil(time)}ms`;

/** The scene of `--rehearse` without a name. The log shows its name, which may be typed too. */
export const plainScene: Scene = {
  name: 'plain',
  purpose: 'no trouble',
  happens: 'the service works normally',
  timeScale: 1,
  duration: 0,
  minChunks: 0,
  rules: () => [],
};

export const scenes: readonly Scene[] = [
  {
    name: 'drain-0310',
    purpose: 'the node is drained in the middle of the run',
    happens:
      'when half of the chunks are finished, this process gets a SIGTERM, as a drained Kubernetes node sends it',
    timeScale: 600,
    duration: 10 * minute,
    minChunks,
    rules: () => [],
    signal: 'SIGTERM',
  },
  {
    name: 'seven-percent-failed',
    purpose: 'the service fails 7 % of the records',
    happens:
      '7 % of the records come back as FAILED, in addition to the one in fifty that the local service always fails',
    timeScale: 600,
    duration: 10 * minute,
    minChunks,
    rules: () => [{ on: 'upload', fault: { fail: '7%' } }],
  },
  {
    name: 'outage-40min',
    purpose: 'the service is down for 40 minutes',
    happens: 'from the middle on, every request is answered with 503 and an HTML page for 40 minutes',
    timeScale: 600,
    duration: 20 * minute,
    minChunks,
    rules: ({ time }) => [
      {
        between: { after: asText(time), until: asText(time + 40 * minute) },
        fault: { status: 503, html: true },
      },
    ],
  },
  {
    name: 'columns-changed',
    purpose: 'the service renames a result column between two folios',
    happens: 'from the middle on, the results come with the column naics_code renamed to code',
    timeScale: 600,
    duration: 10 * minute,
    minChunks,
    rules: ({ chunk }) => [
      { on: 'download', folio: { from: chunk }, fault: { columns: { rename: { naics_code: 'code' } } } },
    ],
  },
  {
    name: 'one-folio-stuck',
    purpose: 'one folio never finishes',
    happens: 'one folio stays PROCESSING; the run waits for it until poll.timeout',
    timeScale: 3600,
    duration: 60 * minute,
    minChunks,
    rules: ({ chunk }) => [{ folio: chunk, fault: { neverFinishes: true } }],
  },
  {
    name: 'token-revoked',
    purpose: 'the token is revoked in the middle of the run',
    happens: 'from the middle on, every request is answered with 401',
    timeScale: 600,
    duration: 20 * minute,
    minChunks,
    rules: ({ time }) => [{ between: { after: asText(time) }, fault: { status: 401 } }],
  },
  {
    name: 'lost-reply',
    purpose: 'an upload is accepted, but its reply is lost',
    happens:
      'the service accepts an upload in the middle and closes the connection before it sends the folio',
    timeScale: 600,
    duration: 10 * minute,
    minChunks,
    rules: ({ chunk }) => [{ on: 'upload', calls: chunk, fault: { cut: 'after-accepting' } }],
  },
];

/** @param name `true` for none. @throws ConfigError `SCENE_UNKNOWN` that lists all scenes. */
export function findScene(name: string | true): Scene {
  const scene = name === true ? plainScene : [plainScene, ...scenes].find((one) => one.name === name);
  if (scene !== undefined) return scene;
  const width = Math.max(...scenes.map((one) => one.name.length));
  const list = scenes.map((one) => `\n  ${one.name.padEnd(width)}  ${one.purpose}`).join('');
  throw new ConfigError('SCENE_UNKNOWN', `--rehearse: there is no scene ${name}; there are:${list}`, {
    hint: 'foliopipe run FILE --rehearse SCENE: a word after --rehearse is read as a scene, so the file comes first',
  });
}
