import { describe, expect, it } from 'vitest';
import { createReleasers } from '../../../src/run/open/releasers.js';

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

  it('is closed past a failure, and the first failure is thrown', async () => {
    const { closed, releasers } = stack('api', 'checkpoint');
    await expect(releasers.close()).rejects.toThrow('api');
    expect(closed).toEqual(['api', 'checkpoint', 'lock']);
  });
});
