/** A pipeline that uses an account: what it wants, and how it is notified. */
import type { PostgresSession } from '../../../postgres/session.js';

/** The limits that a pipeline sets for its account. The lowest of those of working pipelines applies to all. */
export interface AccountWishes {
  /** The identity of the service. */
  readonly service: string;
  readonly pipeline: string;
  /** The largest number of open folios. */
  readonly folios: number;
  /** The largest number of requests a second. */
  readonly perSecond: number;
}

/** A pipeline of an account. */
export interface AccountPipeline extends AccountWishes {
  /** The channel that notifies it of its turn, and the one that notifies all of a pause. */
  readonly channel: string;
  readonly pauseChannel: string;
  /** The number of its lease; 0 without one. */
  fence(): number;
  /** Adds it to the account, once. */
  join(): Promise<void>;
}

/** The part of a session that permits and slots use. */
export interface AccountDatabase extends Pick<PostgresSession, 'query'> {
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
}
