/**
 * Writes a CSV as parts of limited size, each with the header. The CSV is cut only after records, never within a quoted
 * field with line feeds.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { partName } from '../config/sections/output-names.js';
import type { AtFailpoint } from '../failpoints.js';
import { readPieces } from '../streams/read-pieces.js';
import type { Bytes } from '../types.js';
import type { FolderPart } from './folder-index.js';
import { readStart } from './local-output-store.js';
import { writeAll } from './work-file.js';

interface WritePartsOptions {
  readonly mode: number;
  /** Of a part with its header; a record that does not fit is a part of its own. */
  readonly maxBytes: Bytes;
  /** Called after each part. */
  readonly at: AtFailpoint;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the CSV twice. Each part is synced.
 * @param folder is empty.
 * @returns the length of the header, and the parts.
 */
export async function writeParts(
  csv: string,
  folder: string,
  { mode, maxBytes, at, signal }: WritePartsOptions,
): Promise<{ readonly header: Bytes; readonly parts: readonly FolderPart[] }> {
  const { header, ends } = await findCuts(watchedPieces(csv, signal), maxBytes);
  const head = (await readStart(csv, header))!;
  const parts: FolderPart[] = [];
  let position = 0;
  let part: OpenPart | undefined;
  try {
    for await (const piece of watchedPieces(csv, signal)) {
      for (let from = 0; from < piece.length; ) {
        part ??= await beginPart(folder, partName(parts.length), parts.length === 0 ? [] : [head]);
        const end = ends[parts.length]!;
        const to = Math.min(piece.length, from + end - position);
        await part.write(piece.subarray(from, to));
        position += to - from;
        from = to;
        if (position < end) continue;
        parts.push(await part.end(mode));
        part = undefined;
        at('after-part-of-folder-before-next');
      }
    }
  } finally {
    await part?.close();
  }
  return { header, parts };
}

async function* watchedPieces(path: string, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  for await (const piece of readPieces(path)) {
    signal?.throwIfAborted();
    yield piece;
  }
}

interface OpenPart {
  write(piece: Uint8Array): Promise<void>;
  /** Syncs and closes the file. */
  end(mode: number): Promise<FolderPart>;
  close(): Promise<void>;
}

async function beginPart(folder: string, name: string, first: readonly Uint8Array[]): Promise<OpenPart> {
  const file = await open(join(folder, name), 'wx', 0o600);
  const hash = createHash('sha256');
  let bytes = 0;
  const write = async (piece: Uint8Array) => {
    hash.update(piece);
    bytes += piece.length;
    await writeAll(file, [piece]);
  };
  for (const piece of first) await write(piece);
  const end = async (mode: number) => {
    await file.chmod(mode);
    await file.sync();
    await file.close();
    return { name, bytes, sha256: hash.digest('hex') };
  };
  return { write, end, close: () => file.close() };
}

const LF = 0x0a;
const QUOTE = 0x22;

/** Where a CSV is cut into parts. */
interface Cuts {
  /** Bytes of the header, which each part begins with. */
  readonly header: Bytes;
  /** Where each part ends in the CSV; the last one at its end. At least one. */
  readonly ends: readonly number[];
}

/**
 * @param pieces a CSV as foliopipe writes it, with a header: a quote stands only around a field and, doubled, in it.
 * @param maxBytes of a part with its header. A single record that does not fit is a part of its own.
 */
export async function findCuts(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: Bytes,
): Promise<Cuts> {
  const ends: number[] = [];
  let header = 0;
  /** Where the part begins, and where its last whole record ends. */
  let partStart = 0;
  let lastEnd = 0;
  let isQuoted = false;
  let position = 0;
  for await (const piece of pieces) {
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i];
      if (byte === QUOTE) isQuoted = !isQuoted;
      if (byte !== LF || isQuoted) continue;
      const end = position + i + 1;
      // The first part holds the header itself.
      const size = end - partStart + (partStart === 0 ? 0 : header);
      if (size > maxBytes && lastEnd > Math.max(partStart, header)) {
        ends.push(lastEnd);
        partStart = lastEnd;
      }
      if (header === 0) header = end;
      lastEnd = end;
    }
    position += piece.length;
  }
  return { header, ends: [...ends, position] };
}
