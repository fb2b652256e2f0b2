/** Copies standard input, or a stream that stands for it, into the spool. It can be read only once. */
import { SourceError } from '../errors.js';
import { unreadable } from '../source/source-files.js';
import { type Spool, writeCopy } from './spool-folder.js';

/** Standard input, or another stream of bytes. */
export interface InputStream extends AsyncIterable<Uint8Array | string> {
  /** Whether a person types into it. */
  readonly isTTY?: boolean;
  destroy?(): unknown;
}

/** How a source that was read from standard input is shown. */
export const STDIN = 'stdin';

interface CopiedInput {
  readonly folder: string;
  readonly path: string;
}

/** The copies of streams that this process has read: a job may look for its source more than once. */
const copied = new WeakMap<InputStream, CopiedInput>();

/**
 * Reads the stream to its end, unless this process has read it into the folder before.
 * @returns the path of the copy.
 * @throws SourceError `SOURCE_STDIN_TERMINAL`; `SOURCE_EMPTY` when it is closed or empty; `SOURCE_STDIN_READ` when it was
 *   read into another folder; `SOURCE_UNREADABLE`; those of `writeCopy`.
 */
export async function copyStdin(input: InputStream, spool: Spool): Promise<string> {
  const { folder } = spool;
  const before = copied.get(input);
  if (before?.folder === folder) return before.path;
  if (before !== undefined) {
    throw new SourceError('SOURCE_STDIN_READ', 'standard input was read already, for another state folder', {
      hint: 'write it to a file first (cat > FILE), and name that with source.path',
    });
  }
  if (input.isTTY) {
    throw new SourceError('SOURCE_STDIN_TERMINAL', 'source.path is -, and standard input is a terminal', {
      hint: 'pipe the source into the command: foliopipe run < FILE, or EXPORT | foliopipe run',
    });
  }
  try {
    const path = await writeCopy(spool, piecesOf(input));
    copied.set(input, { folder, path });
    return path;
  } catch (error) {
    // An open pipe would keep this process alive.
    input.destroy?.();
    throw error;
  }
}

async function* piecesOf(input: InputStream): AsyncGenerator<Uint8Array> {
  const iterator = input[Symbol.asyncIterator]();
  for (let bytes = 0; ; ) {
    const result = await iterator.next().catch((cause: unknown) => {
      throw unreadable(STDIN, cause);
    });
    if (result.done) {
      if (bytes === 0) throw nothing();
      return;
    }
    const piece = typeof result.value === 'string' ? Buffer.from(result.value) : result.value;
    bytes += piece.length;
    yield piece;
  }
}

function nothing(): SourceError {
  return new SourceError('SOURCE_EMPTY', 'standard input is closed or empty: there is no source in it', {
    hint: 'was it written completely? check what makes it; or name a file with source.path',
    facts: { file: STDIN },
  });
}

/** Whether this process has read the stream into a copy. */
export function wasCopied(input: InputStream): boolean {
  return copied.has(input);
}
