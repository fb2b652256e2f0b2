/** What every file store keeps to: run over the local disk and the one in memory. */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { DamagedPartError, type FileStore, type RunFiles } from '../../src/files/run-files.js';
import { readWhole } from '../../src/streams/read-pieces.js';

export function describeFileStore(kind: string, create: () => Promise<FileStore>): void {
  describe(`${kind}: a file store`, () => {
    let store: FileStore;
    let files: RunFiles;
    beforeEach(async () => {
      store = await create();
      files = await store.ofRun('R1');
    });

    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    const chunkOf = (text: string) => [Buffer.from(text.slice(0, 2)), Buffer.from(text.slice(2))];
    const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
    const write = async (chunk: number, text: string, ...cut: number[]) => {
      const content = async function* () {
        const reused = Buffer.alloc(text.length);
        for (const [at, start] of [0, ...cut].entries()) {
          const length = reused.write(text.slice(start, cut[at] ?? text.length));
          yield reused.subarray(0, length);
        }
      };
      const written = await files.writePart(chunk, part, content());
      await files.syncParts();
      return { ...part, ...written, records: 1 };
    };

    it('gives a chunk back as it was written in pieces, as often as it is asked', async () => {
      await files.writeChunk(3, chunkOf('id,name\n1,x\n'), sha256('id,name\n1,x\n'));
      const { bytes, open } = await files.chunkContent(3);
      expect(bytes).toBe(12);
      for (const _ of [1, 2]) expect((await readWhole(open())).toString()).toBe('id,name\n1,x\n');
      expect(await files.hasChunk(3, sha256('id,name\n1,x\n'))).toBe(true);
      expect(await files.hasChunk(3, sha256('other'))).toBe(false);
    });

    it('replaces and removes a chunk', async () => {
      await files.writeChunk(3, chunkOf('one'), sha256('one'));
      await files.writeChunk(3, chunkOf('two'), sha256('two'));
      expect(await files.hasChunk(3, sha256('two'))).toBe(true);
      await files.removeChunk(3);
      await files.removeChunk(3);
      expect(await files.hasChunk(3, sha256('two'))).toBe(false);
      await expect(files.chunkContent(3)).rejects.toThrow();
    });

    it('gives a part back whole whose pieces shared one buffer, and again in another process', async () => {
      const text = 'id,code\n1,a\n2,b\n';
      const stored = await write(1, text, 5, 9);
      expect(stored).toMatchObject({ bytes: 16, sha256: sha256(text) });
      expect((await readWhole(files.readPart(1, stored))).toString()).toBe(text);
      const others = await store.ofRun('R1');
      expect((await readWhole(others.readPart(1, stored))).toString()).toBe(text);
    });

    it('keeps two contents of one part beside each other', async () => {
      const [one, two] = [await write(1, 'one'), await write(1, 'two')];
      await files.removePart(1, one);
      await expect(readWhole(files.readPart(1, one))).rejects.toBeInstanceOf(DamagedPartError);
      // The process that has written it may still have it in memory.
      for (const process of [files, await store.ofRun('R1')])
        expect((await readWhole(process.readPart(1, two))).toString()).toBe('two');
    });

    it('stores nothing of a part that breaks off', async () => {
      const broken = async function* () {
        yield Buffer.from('half');
        throw new Error('cut');
      };
      await expect(files.writePart(1, part, broken())).rejects.toThrow('cut');
      expect(await store.sizeOf('R1')).toBeUndefined();
    });

    it('tells the size of a run, removes its files, and lists runs that have a place', async () => {
      expect(await store.sizeOf('R2')).toBeUndefined();
      await write(1, 'one');
      await (await store.ofRun('R2')).writeChunk(1, chunkOf('two'), sha256('two'));
      expect(await store.sizeOf('R1')).toBeGreaterThan(0);
      expect((await store.runs()).map(({ run }) => run).sort()).toEqual(['R1', 'R2']);
      await store.remove('R1');
      expect([await store.sizeOf('R1'), await store.sizeOf('R2')]).toEqual([undefined, 3]);
    });
  });
}
