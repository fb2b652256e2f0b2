/** A scene: one night's trouble as data, played to the user's own config. */
import type { Milliseconds } from '../../../pipelines/index.js';

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
