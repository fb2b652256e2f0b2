/** stdout and stderr with slow or lost readers; real pipes are in test/integration/cli/audience.test.ts. */
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/cli/create-logger.js';
import { createSink, stderr } from '../../src/cli/output.js';

/** A stream whose reader reads only on request. */
function stream(highWaterMark = 10) {
  const passed = new PassThrough({ highWaterMark, encoding: 'utf8' });
  return { passed, sink: createSink(passed as unknown as NodeJS.WriteStream) };
}

const trouble = (code: string) => Object.assign(new Error(`write ${code}`), { code });

describe('a sink', () => {
  it('writes to its stream', () => {
    const { passed, sink } = stream();
    sink.write('one');
    sink.write('');
    expect(passed.read()).toBe('one');
    expect(sink).toMatchObject({ isTTY: false, columns: 80, isBehind: false, lost: undefined });
  });

  it('waits for a slow reader', async () => {
    const { passed, sink } = stream();
    sink.write('more than it takes at once');
    let isDrained = false;
    const drained = sink.drained().then(() => {
      isDrained = true;
    });
    await new Promise(setImmediate);
    expect(isDrained).toBe(false);
    passed.resume();
    await drained;
    await sink.drained();
  });

  it('is behind when more than a megabyte waits for the reader', () => {
    const { sink } = stream();
    sink.write('x'.repeat(1024 * 1024));
    expect(sink.isBehind).toBe(false);
    for (let line = 0; line < 5; line += 1) sink.write('x');
    expect(sink.isBehind).toBe(true);
  });

  it('is lost with the first error: reported once, nothing waits and nothing more is written', async () => {
    const { passed, sink } = stream();
    const lost: string[] = [];
    sink.onLost((code) => lost.push(code));
    sink.write('more than it takes at once');
    const drained = sink.drained();
    passed.emit('error', trouble('EPIPE'));
    passed.emit('error', trouble('EIO'));
    await drained;
    expect(lost).toEqual(['EPIPE']);
    expect(sink.lost).toBe('EPIPE');
    const write = vi.spyOn(passed, 'write');
    sink.write('to nobody');
    await sink.drained();
    expect(write).not.toHaveBeenCalled();
  });

  it('reports an earlier loss to a new listener', () => {
    const { passed, sink } = stream();
    passed.emit('error', trouble('ENOSPC'));
    const lost: string[] = [];
    sink.onLost((code) => lost.push(code));
    expect(lost).toEqual(['ENOSPC']);
  });
});

it('log lines are left out while stderr is not read, and counted when it is read again', async () => {
  const lines: string[] = [];
  const terminal = { hasBlock: false, write: (text: string) => void lines.push(text) };
  const logger = createLogger({ logLevel: 'info', logFormat: 'json' }, terminal);
  const isBehind = vi.spyOn(stderr, 'isBehind', 'get').mockReturnValue(true);
  logger.info('one');
  logger.info('two');
  isBehind.mockRestore();
  logger.info('three');
  await Promise.resolve();
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'three',
    '2 log lines left out here, because stderr was not read in time',
  ]);
});
