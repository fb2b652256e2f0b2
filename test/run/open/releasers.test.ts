import { describe, expect, it } from 'vitest';
import { createReleasers } from '../../../src/run/open/releasers.js';
import { turns } from '../../helpers/streams/gates.js';

function stack(...failing: string[]) {
  const closed: string[] = [];
  const releasers = createReleasers();
  for (const name of ['lock', 'checkpoint', 'api']) {
    releasers.add({
      close: async () => {
        closed.push(name);
        if (failing.includes(name)) throw new Error(name);
      },
    });
  }
  return { closed, releasers };
}

describe('what was opened', () => {
  it('is closed in reverse order, once', async () => {
    const { closed, releasers } = stack();
    await releasers.close();
    await releasers.close();
    expect(closed).toEqual(['api', 'checkpoint', 'lock']);
  });

  it('is closed once, and in order, by two calls at the same time', async () => {
    const { closed, releasers } = stack();
    let free = () => {};
    const upload = new Promise<void>((resolve) => {
      free = resolve;
    });
    releasers.add({ close: () => upload });
    const both = [releasers.close(), releasers.close()];
    await turns();
    expect(closed).toEqual([]);
    free();
    await Promise.all(both);
    expect(closed).toEqual(['api', 'checkpoint', 'lock']);
  });

  it('is closed past a failure, and the first failure is thrown', async () => {
    const { closed, releasers } = stack('api', 'checkpoint');
    await expect(releasers.close()).rejects.toThrow('api');
    expect(closed).toEqual(['api', 'checkpoint', 'lock']);
  });
});
