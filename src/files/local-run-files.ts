/**
 * A run's files on the local disk: `<stateDir>/runs/<run>/`, files 0600, folders 0700. One chunk's file is read and
 * written at once: that takes less than the work on its records, and much less than waiting for another thread.
 */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { takeBuffer } from '../streams/buffer-pool.js';
import { hashFile } from '../streams/hash-file.js';
import type { PartReference } from '../types.js';
import { createRecentParts } from './recent-parts.js';
import { DamagedPartError, type RunFiles } from './run-files.js';
import { writeGzipped } from './write-gzipped.js';

const inflate = promisify(gunzip);

/** Creates the run's folder where it is missing. */
export async function createLocalRunFiles(stateDir: string, run: string): Promise<RunFiles> {
  const folder = join(stateDir, 'runs', run);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const chunkPath = (number: number) => join(folder, `chunk-${digits(number)}.csv`);
  const partPath = (chunk: number, { fileStatus, part }: PartReference) =>
    join(folder, `part-${digits(chunk)}-${fileStatus.toLowerCase()}-${part}.csv.gz`);
  const recent = createRecentParts();
  /** Chunk files that this process has written and not removed. */
  const written = new Map<number, { readonly sha256: string; readonly size: number }>();

  return {
    chunkPath,
    // Neither synced nor renamed: whatever a crash leaves of it is held to its hash before it is sent.
    writeChunk: async (number, bytes, sha256) => {
      written.delete(number);
      writeFileSync(chunkPath(number), bytes, { mode: 0o600 });
      written.set(number, { sha256, size: bytes.length });
    },
    hasChunk: async (number, sha256) => {
      const known = written.get(number);
      if (known?.sha256 === sha256) return sizeOf(chunkPath(number)) === known.size;
      return (await hashFile(chunkPath(number)))?.sha256 === sha256;
    },
    removeChunk: async (number) => {
      written.delete(number);
      rmSync(chunkPath(number), { force: true });
    },

    writePart: async (chunk, part, content) => {
      const path = partPath(chunk, part);
      const hash = createHash('sha256');
      let bytes = 0;
      let copy: Buffer | undefined;
      await writeFileAtomically(path, 0o600, (file) =>
        writeGzipped(file, content, (piece) => {
          hash.update(piece);
          // One that comes in several pieces is large.
          copy = bytes === 0 ? copyOf(piece) : undefined;
          bytes += piece.length;
        }),
      );
      const sha256 = hash.digest('hex');
      if (copy !== undefined) recent.keep(path, sha256, copy);
      return { bytes, sha256 };
    },

    readPart: async (chunk, part) => {
      const path = partPath(chunk, part);
      const known = recent.take(path, part.sha256);
      if (known !== undefined) return known;
      try {
        const compressed = readFileSync(path);
        // One byte more than is right: all of it in one piece, and a longer one is noticed.
        const size = part.bytes + 1;
        const bytes = await inflate(compressed, { maxOutputLength: size, chunkSize: Math.max(size, 64) });
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        if (sha256 !== part.sha256) throw new Error('its content is not what was written');
        return bytes;
      } catch (error) {
        // What the system refuses for another reason may be whole: it is not to be fetched again for that.
        if (isSystemTrouble(error)) throw error;
        throw new DamagedPartError(chunk, part, error);
      }
    },
  };
}

function copyOf(piece: Uint8Array): Buffer {
  const copy = takeBuffer(piece.length);
  copy.set(piece);
  return copy;
}

/** Undefined where there is no such file. */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

function isSystemTrouble(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && code !== 'ENOENT' && code !== 'EISDIR';
}

function digits(number: number): string {
  return String(number).padStart(6, '0');
}
