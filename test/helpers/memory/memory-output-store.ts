/** Publications in memory, behind the same port as local folders. docs/ports.md shows this file word for word. */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import type { OutputStore } from '../../../pipelines/index.js';

export interface MemoryOutputStore extends OutputStore {
  /** The content under each name. */
  readonly contents: Map<string, { readonly content: Buffer; readonly stamp: string }>;
}

export function createMemoryOutputStore(): MemoryOutputStore {
  const contents: MemoryOutputStore['contents'] = new Map();
  let puts = 0;
  return {
    contents,
    put: async (localFile, name) => {
      const content = await readFile(localFile);
      puts += 1;
      const stamp = `put ${puts}`;
      contents.set(name, { content, stamp });
      await rm(localFile);
      return stamp;
    },
    identity: async (name) => {
      const found = contents.get(name);
      if (found === undefined) return undefined;
      const { content, stamp } = found;
      const sha256 = async () => createHash('sha256').update(content).digest('hex');
      return { bytes: content.length, stamp, sha256 };
    },
    read: async (name, bytes) => contents.get(name)?.content.subarray(0, bytes),
    stream: async function* (name) {
      const found = contents.get(name);
      if (found === undefined) throw Object.assign(new Error(`ENOENT: ${name}`), { code: 'ENOENT' });
      yield found.content;
    },
    remove: async (name) => void contents.delete(name),
    check: async () => undefined,
    checkWritable: async () => undefined,
    prepare: async () => undefined,
  };
}
