/** The contract of the port to what is kept for the next delta, for every implementation. */
import { describe, expect, it } from 'vitest';
import type { DeltaStore, LastPublication } from '../../src/delta/delta-store.js';

const last = (publication: number, digests: string | null): LastPublication => ({
  publication,
  sha256: 'aa',
  key: ['id'],
  columns: ['id', 'näme'],
  digests,
});

export function describeDeltaStore(name: string, open: () => Promise<DeltaStore>): void {
  const write = (store: DeltaStore, pipeline: string, digests: string, content: string) =>
    store.writeDigests(pipeline, digests, async (append) => {
      const piece = Buffer.from(content);
      append(piece.subarray(0, 2));
      append(piece.subarray(2));
      piece.fill(0);
    });
  const read = async (store: DeltaStore, pipeline: string, digests: string) => {
    const stored = await store.openDigests(pipeline, digests);
    if (stored === undefined) return undefined;
    const into = Buffer.alloc(stored.size + 5);
    const size = await stored.read(0, into);
    await stored.close();
    return into.toString('utf8', 0, size);
  };

  describe(`a delta store: ${name}`, () => {
    it('keeps the last publication of each pipeline', async () => {
      const store = await open();
      expect(await store.last('..')).toBeUndefined();
      await store.recordLast('..', last(1, null));
      await store.recordLast('a', last(2, null));
      await store.recordLast('..', last(3, null));
      expect(await store.last('..')).toEqual(last(3, null));
      expect(await store.last('a')).toEqual(last(2, null));
    });

    it('keeps digests until another publication is the last one', async () => {
      const store = await open();
      await write(store, 'a', 'one', 'content');
      await write(store, 'b', 'one', 'of b');
      expect(await read(store, 'a', 'one')).toBe('content');
      await store.recordLast('a', last(1, 'one'));
      await write(store, 'a', 'two', 'more');
      expect(await read(store, 'a', 'one')).toBe('content');
      await store.recordLast('a', last(2, 'two'));
      expect(await read(store, 'a', 'one')).toBeUndefined();
      expect(await read(store, 'a', 'two')).toBe('more');
      expect(await read(store, 'b', 'one')).toBe('of b');
    });

    it('replaces digests whole, and keeps the old ones if writing fails', async () => {
      const store = await open();
      await write(store, 'a', 'one', 'content');
      const failing = store.writeDigests('a', 'one', async (append) => {
        append(Buffer.from('ne'));
        throw new Error('no more');
      });
      await expect(failing).rejects.toThrow('no more');
      expect(await read(store, 'a', 'one')).toBe('content');
      await write(store, 'a', 'one', 'new content');
      expect(await read(store, 'a', 'one')).toBe('new content');
    });

    it('reads any bytes of digests', async () => {
      const store = await open();
      await write(store, 'a', 'one', 'content');
      const stored = (await store.openDigests('a', 'one'))!;
      const into = Buffer.alloc(3);
      expect(await stored.read(2, into)).toBe(3);
      expect(into.toString()).toBe('nte');
      expect(await stored.read(6, into)).toBe(1);
      await stored.close();
    });
  });
}
