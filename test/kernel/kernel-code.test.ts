/** The committed kernel is what its sources compile to. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
// @ts-expect-error: a script without types
import { compileKernel } from '../../src/kernel/build.js';

it('is made of the sources as they are', async () => {
  const committed = await readFile(new URL('../../src/kernel/kernel-code.ts', import.meta.url), 'utf8');
  expect(committed, 'run: npm run build:kernel').toBe(await (compileKernel as () => Promise<string>)());
});
