/** The open folios of an account where processes meet: turns, questions at the same moment, and what refusals teach all. */
import { expect, it } from 'vitest';
import { useAccount } from '../../helpers/postgres/account-members.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const shared = useStateDatabase(usePostgres());
const { openMember, expectWaiting, whileChanged } = useAccount(shared);

it('permits go to the pipeline that has waited longest, even if another one asks first', async () => {
  const [holder, first, second] = [
    await openMember('holder', 1, 1),
    await openMember('first', 1, 1),
    await openMember('second', 1, 1),
  ];
  await holder.acquire(1);
  await holder.send(1);
  /** None is passed over, however long this takes. */
  const beForgiven = () =>
    shared.database.query(
      "UPDATE foliopipe.account_pipelines SET asks_by = clock_timestamp() + interval '1 hour'",
    );
  const ask = async ({ table, nameOf }: typeof first) => {
    const answer = await table.ask([nameOf(1)]);
    await beForgiven();
    return answer;
  };
  expect(await ask(first)).toMatchObject({ granted: [], open: 1, limit: 1, ahead: 0, others: 0 });
  expect(await ask(second)).toMatchObject({ granted: [], ahead: 1, others: 1 });
  expect(await ask(first)).toMatchObject({ granted: [], ahead: 0, others: 1 });
  await holder.finish(1);
  await beForgiven();
  expect(await ask(second)).toMatchObject({ granted: [], open: 0, ahead: 1 });
  expect(await ask(first)).toMatchObject({ granted: [first.nameOf(1)], open: 1 });
  expect(await ask(second)).toMatchObject({ granted: [], ahead: 0, others: 0 });
});

it.each(['is in doubt', 'belongs to a process that is gone'] as const)(
  'permits are given again when the upload that is tried again alone %s',
  async (why) => {
    const [one, other] = [await openMember('one', 2, 1), await openMember('other', 2, 1)];
    await one.acquire(1);
    await one.intend(1);
    expect(await one.permits.refused?.(one.nameOf(1))).toBe(true);
    const waiting = other.acquire(1);
    await expectWaiting('other');
    // What its next process does.
    if (why === 'is in doubt') await one.checkpoint.recordInterrupted(one.run);
    else await one.die();
    expect(await waiting).toBe(true);
  },
);

it('permits that another process gives at the same moment count', async () => {
  const [one, other] = [await openMember('one', 1, 1), await openMember('other', 1, 1)];
  // Both are known before.
  for (const { acquire, permits, nameOf } of [one, other]) {
    await acquire(1);
    await permits.release(nameOf(1));
  }
  const given = `
    UPDATE foliopipe.accounts SET grants = grants + 1;
    INSERT INTO foliopipe.reserved_permits (run, chunk, service, pipeline, fence)
      SELECT '${other.run}', 1, service, pipeline, fence FROM foliopipe.account_pipelines WHERE pipeline = 'other'`;
  const { answer } = await whileChanged(given, () => one.acquire(1));
  await expectWaiting('one');
  await other.permits.release(other.nameOf(1));
  expect(await answer).toBe(true);
});

it('permits of another account count there alone', async () => {
  const [one, other] = [await openMember('one', 1, 2), await openMember('other', 1, 2, 'https://other.test')];
  for (const { acquire, send } of [one, other]) {
    expect(await acquire(1)).toBe(true);
    await send(1);
  }
  const waiting = [one, other].map(({ acquire }) => acquire(2));
  await expectWaiting('one');
  await expectWaiting('other');
  await one.finish(1);
  expect(await waiting[0]).toBe(true);
  await one.send(2);
  await expectWaiting('other');
  await other.finish(1);
  expect(await waiting[1]).toBe(true);
});

it('permits are fewer for all pipelines when the service refuses to open more', async () => {
  const [one, other] = [await openMember('one', 9, 4), await openMember('other', 9, 4)];
  const elsewhere = await openMember('elsewhere', 9, 1, 'https://other.test');
  await elsewhere.acquire(1);
  for (const chunk of [1, 2, 3]) await one.acquire(chunk);
  for (const chunk of [1, 2]) await one.send(chunk);
  await one.intend(3);
  expect(await one.permits.refused?.(one.nameOf(3))).toBe(true);
  // It asks again alone.
  const waiting = other.acquire(1);
  await expectWaiting('other');
  // Another process says something of the account meanwhile: that it need not be quiet before one more is tried.
  const quiet = "UPDATE foliopipe.accounts SET learned = jsonb_set(learned::jsonb, '{quiet}', '0')::text";
  const { answer } = await whileChanged(quiet, async () => one.permits.refused?.(one.nameOf(3)));
  expect(await answer).toBe(false);
  await one.checkpoint.recordDropped(one.run, 3, 4);
  await one.permits.release(one.nameOf(3));
  await expectWaiting('other');
  await one.finish(1);
  expect(await waiting).toBe(true);
  await other.send(1);
  // As many as the service has admitted are open.
  const next = other.acquire(2);
  await expectWaiting('other');
  // Once one has ended, one more is tried; and more when that is accepted.
  await other.finish(1);
  expect(await next).toBe(true);
  expect(await other.acquire(3)).toBe(true);
  for (const chunk of [2, 3]) await other.send(chunk);
  expect(await other.acquire(4)).toBe(true);
  // Another account has learned nothing.
  expect(await elsewhere.table.ask([elsewhere.nameOf(1)])).toMatchObject({ limit: 9, admitted: null });
});
