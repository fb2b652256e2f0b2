/**
 * The times at which an account's requests may be sent, by the clock of the database. Each slot counts until a second
 * after its end, and a new one opens when few enough slots count. A pause delays all slots that are given after it, and
 * every process that listens is notified.
 */
import { epochMs, listOf, type Prepared, statement } from '../../../postgres/statement.js';
import type { RequestSlots, TakenSlots } from '../../../streams/request-slots.js';
import type { AccountDatabase, AccountPipeline } from './member.js';
import { LIVE } from './read-account.js';

/** Slots are kept in ms since the epoch. */
const NOW = epochMs('clock_timestamp()');

/** How long a slot lasts when this number of slots counts: the fewer slots are left, the shorter it is. */
const lasts = (slots: string) =>
  `(@lasts::float8 + (@lastsAlone::float8 - @lasts::float8) * greatest(1 - (${slots})::float8 / most, 0))`;

// SET computes everything that depends on other slots: Postgres computes it again if another process takes slots
// meanwhile. Slots end in the order in which they are taken, at least half as far apart as the limit requires. A slot
// that was not used in its time is exchanged for one that opens at once, if fewer slots than one second may hold end
// after it: then no second that contains the new slot can be full without the old one. A process that does not know how
// low the limit is, and asks for more, gets the slots of one second: later ones would have to keep their distance from
// these, which do not count yet.
const take: Prepared<TakenSlots> = statement(`
  UPDATE accounts SET slots = (
    SELECT kept.ends || array(
      SELECT CASE
        WHEN given = 1 AND spare IS NOT NULL
          AND (SELECT count(*) FROM unnest(kept.ends) AS later WHERE later > spare) < most
        THEN greatest(now, paused) + lasts
        ELSE greatest(
          greatest(now, paused) + (nth - 1) * apart + lasts,
          kept.ends[kept.slots + nth - most] + span + lasts,
          kept.ends[kept.slots] + nth * apart)
        END
      FROM generate_series(1, given) AS nth ORDER BY nth)
    FROM (
      SELECT
        coalesce(array_agg(ends ORDER BY ends) FILTER (WHERE NOT is_unused), '{}') AS ends,
        count(*) FILTER (WHERE NOT is_unused) AS slots,
        max(ends) FILTER (WHERE is_unused AND ends <= ${NOW}) AS spare,
        ${lasts('count(*) FILTER (WHERE NOT is_unused) + given')} AS lasts,
        ${NOW} AS now,
        CASE WHEN paused_until > clock_timestamp() THEN ${epochMs('paused_until')} END AS paused
      FROM (SELECT ends, ends = ANY (@unused::float8[]) AS is_unused FROM unnest(slots) AS ends) AS each
      WHERE ends + span > ${NOW}) AS kept)
  FROM (
    SELECT per_second, ceil(per_second)::int8 AS most, @span::float8 * ceil(per_second) / per_second AS span,
      @span::float8 / per_second / 2 AS apart, least(@count::int8, ceil(per_second)::int8) AS given
    FROM (
      SELECT least(@perSecond::float8, (SELECT min(per_second) FROM (${LIVE}) AS live)) AS per_second) AS wishes
  ) AS pace
  WHERE service = @service
  RETURNING
    slots[cardinality(slots) - given + 1:] AS ends,
    ${lasts('cardinality(slots)')} AS lasts,
    cardinality(slots) > most AS "isFull",
    per_second AS "perSecond",
    ${epochMs('statement_timestamp()')} AS "receivedAt",
    ${NOW} AS "answeredAt"`);

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
      const values = { service, perSecond, ...asked, unused: listOf(asked.unused) };
      const [taken] = await db.query(take, values, true, onSend);
      return taken!;
    },
    pause: async (time) => {
      await member.join();
      await db.query(pause, { service, channel, time }, true);
    },
    listen: (hear) => db.listen(channel, (time) => hear(Number(time))),
  };
}
