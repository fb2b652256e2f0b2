/**
 * The times at which an account's requests may be sent, by the clock of the database: each a little after the one before
 * it. A pause moves all that are given later, and is told to every process that waits for one.
 */
import { type Prepared, statement } from '../../../postgres/statement.js';
import type { RequestSlots, TakenSlots } from '../../../streams/request-slots.js';
import type { AccountDatabase, AccountPipeline } from './member.js';
import { LIVE } from './permits.js';

// The slot before which nothing was given counts from now: what was not used is gone.
const take: Prepared<TakenSlots> = statement(`
  UPDATE accounts SET next_slot =
    greatest(next_slot, paused_until, clock_timestamp() + @lead::float8 * interval '1 millisecond')
    + @count::int8 * spacing * interval '1 millisecond'
  FROM (
    SELECT @span::float8 / least(@perSecond::float8, (SELECT min(per_second) FROM (${LIVE}) AS live)) AS spacing
  ) AS pace
  WHERE service = @service
  RETURNING
    (extract(epoch FROM next_slot - clock_timestamp()) * 1000)::float8 - @count::int8 * spacing AS "opensIn",
    (extract(epoch FROM next_slot - statement_timestamp()) * 1000)::float8 - @count::int8 * spacing AS "opensAfter",
    spacing`);

const pause = statement(`
  WITH paused AS (
    UPDATE accounts
    SET paused_until = greatest(paused_until, clock_timestamp() + @time::float8 * interval '1 millisecond')
    WHERE service = @service RETURNING service)
  SELECT pg_notify(@channel, @time::text) FROM paused`);

/** Makes the slots of an account, taken by one pipeline. */
export function accountSlots(db: AccountDatabase, member: AccountPipeline): RequestSlots {
  const { service, perSecond, pauseChannel: channel } = member;
  return {
    take: async ({ onSend, ...asked }) => {
      await member.join();
      const [taken] = await db.query(take, { service, perSecond, ...asked }, true, onSend);
      return taken!;
    },
    pause: async (time) => {
      await member.join();
      await db.query(pause, { service, channel, time }, true);
    },
    listen: (hear) => db.listen(channel, (time) => hear(Number(time))),
  };
}
