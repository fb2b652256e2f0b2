import { expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { createFolioBytes, maxFolioBytes } from '../../../src/stages/download/folio-limits.js';
import type { PartReference } from '../../../src/types.js';
import { collect } from '../../helpers/streams/collect.js';

const chunk = { number: 1, folio: 'F1', bytes: 100, records: 2 } as ChunkRow;
const most = maxFolioBytes(chunk);
const part = (number: number): PartReference => ({ fileStatus: 'SUCCESSFUL', part: number });

async function* content(...sizes: number[]) {
  for (const size of sizes) yield Buffer.alloc(size);
}

it('the bytes of a folio are those of all its parts, each as it came last', async () => {
  const bytes = createFolioBytes(chunk, 10);
  await collect(bytes.count(part(0), content(5, 6)));
  await collect(bytes.count(part(1), content(7)));
  expect(bytes.held).toBe(28);
  // The reply was cut, and the part is fetched again.
  await collect(bytes.count(part(0), content(2)));
  expect(bytes.held).toBe(19);
  await collect(bytes.count(part(0), content(3)));
  expect(bytes.held).toBe(20);
  await collect(bytes.count(part(2), content(most - 20)));
  const tooMany = collect(bytes.count(part(3), content(1)));
  await expect(tooMany).rejects.toMatchObject({ code: 'FOLIO_TOO_LARGE', facts: { chunk: 1 } });
});
