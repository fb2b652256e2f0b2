/** Items are worked on together: those that came in time, as many as are allowed, and at once when that is asked for. */
import { expect, it } from 'vitest';
import { gather } from '../../src/streams/gather.js';

const LONG = 600_000;

function recording(time: number, most: number) {
  const together: (readonly number[])[] = [];
  return { together, gathered: gather<number>(async (items) => void together.push(items), { time, most }) };
}

it('works on those together that came in time', async () => {
  const { together, gathered } = recording(5, 100);
  await Promise.all([gathered.add(1), gathered.add(2), gathered.add(3)]);
  await gathered.add(4);
  expect(together).toEqual([[1, 2, 3], [4]]);
});

it('works on as many as are allowed without waiting for more', async () => {
  const { together, gathered } = recording(LONG, 2);
  await Promise.all([gathered.add(1), gathered.add(2)]);
  expect(together).toEqual([[1, 2]]);
});

it('works on what waits when it is told so', async () => {
  const { together, gathered } = recording(LONG, 100);
  const added = [gathered.add(1), gathered.add(2)];
  gathered.flush();
  await Promise.all(added);
  gathered.flush();
  expect(together).toEqual([[1, 2]]);
});

it('gives an error to all whose work failed, and to no other', async () => {
  const gathered = gather<number>(
    async (items) => {
      if (items.includes(1)) throw new Error('broken');
    },
    { time: LONG, most: 2 },
  );
  const ended = await Promise.allSettled([
    gathered.add(1),
    gathered.add(2),
    gathered.add(3),
    gathered.add(4),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled']);
});
