/** One pipeline's access to an account at the service, which all pipelines of the state share. */
import { createHash } from 'node:crypto';
import type { Fence } from '../../../postgres/fenced.js';
import type { PostgresSession } from '../../../postgres/session.js';
import { statement } from '../../../postgres/statement.js';
import type { RequestSlots } from '../../../streams/request-slots.js';
import type { PermitTable } from '../../../streams/shared-permits.js';
import type { AccountDatabase, AccountPipeline, AccountWishes } from './member.js';
import { accountPermits } from './permits.js';
import { accountSlots } from './slots.js';

export interface Account {
  readonly permits: PermitTable;
  readonly slots: RequestSlots;
  /** Stops listening. */
  close(): void;
}

// Also removes permits that no process can use any more.
const join = statement(`
  WITH
    account AS (INSERT INTO accounts (service) VALUES (@service) ON CONFLICT (service) DO NOTHING),
    swept AS (
      DELETE FROM reserved_permits WHERE service = @service AND NOT EXISTS (
        SELECT FROM leases WHERE leases.pipeline = reserved_permits.pipeline
          AND leases.fence = reserved_permits.fence AND leases.until > clock_timestamp()))
  INSERT INTO account_pipelines (service, pipeline, fence, folios, per_second, channel)
  SELECT @service, @pipeline, @fence::int8, @folios::int8, @perSecond::float8, @channel WHERE @fence::int8 > 0
  ON CONFLICT (service, pipeline) DO UPDATE SET fence = excluded.fence, folios = excluded.folios,
    per_second = excluded.per_second, channel = excluded.channel, waits_since = NULL`);

/**
 * @param open returns the connection; called when the account is needed for the first time.
 * @param fence the lease of the pipeline. Without one, its limits apply only to itself.
 */
export function createAccount(
  open: () => Promise<Pick<PostgresSession, 'query' | 'listen'>>,
  fence: Fence,
  wishes: AccountWishes,
): Account {
  const { service, pipeline, folios, perSecond } = wishes;
  const channel = channelOf(service, pipeline);
  const number = () => fence.held?.number ?? 0;
  let joined: Promise<void> | undefined;
  const member: AccountPipeline = {
    ...wishes,
    channel,
    pauseChannel: channelOf(service),
    fence: number,
    join: () => {
      joined ??= db
        .query(join, { service, pipeline, fence: number(), folios, perSecond, channel }, true)
        .then(() => undefined);
      joined.catch(() => {
        joined = undefined;
      });
      return joined;
    },
  };
  const ends: (() => void)[] = [];
  const db: AccountDatabase = {
    // Other pipelines share the connection, which therefore does not know whose lease has ended.
    query: async (...asked) => {
      try {
        return await (await open()).query(...asked);
      } catch (error) {
        throw fence.loss?.() ?? error;
      }
    },
    listen: async (...wanted) => void ends.push(await (await open()).listen(...wanted)),
  };
  return {
    permits: accountPermits(db, member),
    slots: accountSlots(db, member),
    close: () => {
      for (const end of ends.splice(0)) end();
    },
  };
}

/** A name of at most 63 letters. */
function channelOf(...names: readonly string[]): string {
  return `foliopipe_${createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 40)}`;
}
