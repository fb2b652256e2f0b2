/** In this process, by the signals' events; real ones are in test/integration/cli/signals.test.ts. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isUnderNohup, listenForStop, type StopSignals, stopText } from '../../src/cli/stop-signals.js';
import { InterruptedError } from '../../src/errors.js';

let stop: StopSignals;
const send = (name: NodeJS.Signals) => process.emit(name, name);
const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);

function listen(): string[] {
  const told: string[] = [];
  stop = listenForStop((name) => told.push(name));
  return told;
}

afterEach(() => {
  stop.close();
  exit.mockClear();
  vi.unstubAllEnvs();
});

describe('listenForStop', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ] as const)('%s stops resumably, with %i', (name, exitCode) => {
    vi.stubEnv('_', '/usr/bin/node');
    const told = listen();
    send(name);
    expect(told).toEqual([name]);
    expect(stop.signal.reason).toBeInstanceOf(InterruptedError);
    expect(stop.signal.reason).toMatchObject({ exitCode, facts: { signal: name } });
    expect(exit).not.toHaveBeenCalled();
    send('SIGTERM');
    expect(exit.mock.calls).toEqual([[143]]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('SIGHUP after %s does not end at once', (first) => {
    vi.stubEnv('_', '/usr/bin/node');
    const told = listen();
    send(first);
    send('SIGHUP');
    send('SIGHUP');
    expect(told).toEqual([first]);
    expect(exit).not.toHaveBeenCalled();
  });

  it('SIGHUP is ignored under nohup, before and after a stop', () => {
    vi.stubEnv('_', '/usr/bin/nohup');
    const told = listen();
    send('SIGHUP');
    expect(stop.signal.aborted).toBe(false);
    send('SIGINT');
    send('SIGHUP');
    expect(told).toEqual(['SIGINT']);
    expect(exit).not.toHaveBeenCalled();
  });

  it('leaves no listener behind', () => {
    const count = () => process.listenerCount('SIGHUP') + process.listenerCount('SIGTERM');
    const before = count();
    listen();
    stop.close();
    expect(count()).toBe(before);
  });
});

it.each([
  ['SIGINT', / Press Ctrl-C again to stop at once\.$/],
  ['SIGTERM', / Send it again to stop at once\.$/],
  ['SIGHUP', /\(they are paid for\)\.$/],
] as const)(
  'the text for %s says what is waited for, and how to stop at once if that is possible',
  (name, end) => {
    expect(stopText(name)).toMatch(
      /^SIG\w+: stopping\. Waiting for uploads in flight \(they are paid for\)\./,
    );
    expect(stopText(name)).toMatch(end);
  },
);

it.each([
  [{ _: '/usr/bin/nohup' }, true],
  [{ _: 'nohup' }, true],
  [{ _: '/usr/bin/node' }, false],
  [{ _: '/home/nohup/bin/foliopipe' }, false],
  [{}, false],
])('%j: under nohup is %s', (env, expected) => {
  expect(isUnderNohup(env)).toBe(expected);
});
