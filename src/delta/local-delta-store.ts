/** The delta store on the local disk: `<stateDir>/deltas/<pipeline>.d/`, files 0600, folders 0700. */
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { GatheredWrites } from '../streams/gathered-writes.js';
import { readAt } from '../streams/read-at.js';
import { ignoreMissing } from '../streams/system-error.js';
import type { DeltaStore, LastPublication, StoredDigests } from './delta-store.js';

const LAST = 'last.json';

/** Keeps the digests in files of the state folder. */
export function createLocalDeltaStore(stateDir: string): DeltaStore {
  const root = join(stateDir, 'deltas');
  // The ending keeps a pipeline called ".." within the folder.
  const folderOf = (pipeline: string) => join(root, `${pipeline}.d`);
  const write = async (
    pipeline: string,
    name: string,
    fill: (append: (piece: Uint8Array) => void) => Promise<void>,
  ) => {
    makeFolder(folderOf(pipeline), 0o700);
    const path = join(folderOf(pipeline), name);
    await writeFileAtomically(path, 0o600, async (file) => {
      const writes = new GatheredWrites((bytes) => writeFileSync(file, bytes));
      await fill((piece) => writes.add(piece));
      writes.flush();
    });
  };
  return {
    last: async (pipeline) => {
      const path = join(folderOf(pipeline), LAST);
      try {
        return decodeLast(readFileSync(path, 'utf8'), path);
      } catch (error) {
        return ignoreMissing(error);
      }
    },
    recordLast: async (pipeline, last) => {
      await write(pipeline, LAST, async (append) => append(encodeLast(last)));
      for (const name of await readdir(folderOf(pipeline))) {
        if (name !== LAST && name !== last.digests) await rm(join(folderOf(pipeline), name), { force: true });
      }
    },
    writeDigests: write,
    openDigests: async (pipeline, name) => {
      try {
        return openStored(join(folderOf(pipeline), name));
      } catch (error) {
        return ignoreMissing(error);
      }
    },
  };
}

function openStored(path: string): StoredDigests {
  const file = openSync(path, 'r');
  return {
    size: fstatSync(file).size,
    read: async (position, into) => readAt(file, into, position),
    close: async () => closeSync(file),
  };
}

function encodeLast(last: LastPublication): Buffer {
  const text = JSON.stringify(last);
  return Buffer.from(`${text}\n${crc32(text)}\n`);
}

function decodeLast(content: string, path: string): LastPublication {
  const [text = '', sum, ...rest] = content.split('\n');
  if (sum === String(crc32(text)) && rest.join() === '') return JSON.parse(text) as LastPublication;
  throw new ConfigError('DELTA_BASE_DAMAGED', `${path} is damaged`, {
    facts: { path },
  });
}
