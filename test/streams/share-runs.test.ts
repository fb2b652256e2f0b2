/** Which calls share a run of their work. */
import { expect, it } from 'vitest';
import { shareRuns } from '../../src/streams/share-runs.js';

/** Work whose runs are ended by hand, in the order in which they begin. */
function manual() {
  const begun: { readonly key: string; readonly end: (error?: Error) => void }[] = [];
  const call = shareRuns(
    (key: string) =>
      new Promise<void>((resolve, reject) => {
        begun.push({ key, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  );
  return { begun, call };
}

it('calls during a run share the next one, which begins after it', async () => {
  const { begun, call } = manual();
  const first = call('a');
  const others = [call('a'), call('a')];
  expect(begun).toHaveLength(1);
  begun[0]!.end();
  await first;
  await new Promise(setImmediate);
  expect(begun).toHaveLength(2);
  begun[1]!.end();
  await Promise.all(others);
  const last = call('a');
  expect(begun).toHaveLength(3);
  begun[2]!.end();
  await last;
});

it('never runs twice at once, also where a call comes just when a run ends', async () => {
  let running = 0;
  let most = 0;
  const call = shareRuns(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
  });
  const calls: Promise<void>[] = [];
  for (let round = 0; round < 20; round++) {
    const first = call(undefined);
    calls.push(call(undefined));
    await first;
    // Each of these is called one microtask later than the one before it.
    for (let turn = 0; turn < 8; turn++) {
      calls.push(call(undefined));
      await Promise.resolve();
    }
  }
  await Promise.all(calls);
  expect(most).toBe(1);
});

it('a run that fails fails those that wait for the next one too, and not those that come after it', async () => {
  const { begun, call } = manual();
  const waiting = [call('a'), call('a')];
  begun[0]!.end(new Error('lost'));
  for (const one of waiting) await expect(one).rejects.toThrow('lost');
  await new Promise(setImmediate);
  expect(begun).toHaveLength(1);
  const later = call('a');
  begun[1]!.end();
  await later;
});

it('other keys do not wait', async () => {
  const { begun, call } = manual();
  const calls = [call('a'), call('b')];
  expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
  for (const { end } of begun) end();
  await Promise.all(calls);
});
