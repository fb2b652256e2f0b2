/** The files of runs in memory, behind the same port as the local disk. */
import { createHash } from 'node:crypto';
import {
  type ByteStream,
  DamagedPartError,
  type FileStore,
  type RunFiles,
} from '../../../src/files/run-files.js';
import type { PartReference, StoredPart } from '../../../src/types.js';

export interface MemoryFiles extends FileStore {
  /** What is stored, by run and name; a test may damage it. */
  readonly contents: Map<string, Map<string, Buffer>>;
}

/** Contents are read back in pieces of this size. */
const PIECE_BYTES = 7;

export function createMemoryFiles(): MemoryFiles {
  const contents: MemoryFiles['contents'] = new Map();
  const of = (run: string) => {
    const found = contents.get(run) ?? new Map<string, Buffer>();
    contents.set(run, found);
    return found;
  };
  return {
    contents,
    ofRun: async (run) => filesOf(of(run)),
    sizeOf: async (run) => {
      const files = contents.get(run);
      if (files === undefined || files.size === 0) return undefined;
      return [...files.values()].reduce((sum, { length }) => sum + length, 0);
    },
    remove: async (run) => void contents.get(run)?.clear(),
    runs: async () => [...contents.keys()].map((run) => ({ run, location: `memory:${run}` })),
  };
}

function filesOf(files: Map<string, Buffer>): RunFiles {
  const chunkName = (number: number) => `chunk ${number}`;
  const partName = (chunk: number, { fileStatus, part }: PartReference, sha256: string) =>
    `part ${chunk} ${fileStatus} ${part} ${sha256}`;
  return {
    writeChunk: async (number, content) => void files.set(chunkName(number), await whole(content)),
    chunkContent: async (number) => {
      const content = files.get(chunkName(number));
      if (content === undefined) throw new Error(`there is no chunk ${number}`);
      return { bytes: content.length, open: () => pieces(content) };
    },
    hasChunk: async (number, sha256) => {
      const content = files.get(chunkName(number));
      return content !== undefined && hashOf(content) === sha256;
    },
    removeChunk: async (number) => void files.delete(chunkName(number)),
    writePart: async (chunk, part, content) => {
      const bytes = await whole(content);
      const sha256 = hashOf(bytes);
      files.set(partName(chunk, part, sha256), bytes);
      return { bytes: bytes.length, sha256 };
    },
    syncParts: async () => undefined,
    readPart: async function* (chunk, part: StoredPart) {
      const content = files.get(partName(chunk, part, part.sha256));
      if (content === undefined || hashOf(content) !== part.sha256) {
        throw new DamagedPartError(chunk, part, new Error('it is missing or has another content'));
      }
      yield* pieces(content);
    },
    removePart: async (chunk, part) => void files.delete(partName(chunk, part, part.sha256)),
  };
}

async function whole(content: ByteStream): Promise<Buffer> {
  const found: Buffer[] = [];
  for await (const piece of content) found.push(Buffer.from(piece));
  return Buffer.concat(found);
}

async function* pieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += PIECE_BYTES)
    yield Buffer.from(content.subarray(at, at + PIECE_BYTES));
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
