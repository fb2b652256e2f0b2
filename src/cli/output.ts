/**
 * stdout and stderr: the only file that writes to them. A reader that has gone, a closed terminal or a full disk ends
 * the writing, never the work.
 */
import { TroubleError } from '../errors.js';

/** One of the two, or what stands for it in a test. */
export type OutputStream = Pick<NodeJS.WriteStream, 'write' | 'on'> &
  Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'writableLength' | 'writableNeedDrain'>>;

export interface Sink {
  readonly isTTY: boolean;
  /** Characters in a line of the terminal. */
  readonly columns: number;
  /** More waits for the reader than anybody should hold for it: what can be left out is. */
  readonly isBehind: boolean;
  /** Why it is written no more, as the system calls it: `EPIPE`, `ENOSPC`. Undefined while it is. */
  readonly lost: string | undefined;
  /** Hands the text over at once; where the sink is lost, to nobody. Never throws. */
  write(text: string): void;
  /** Waits for a reader that is slower than the writer. */
  drained(): Promise<void>;
  /** Told once, when the sink is lost; another one takes the place of the one before. */
  onLost(tell: (code: string) => void): void;
}

/** Listens to the stream's errors from now on: one that nobody listens to would end the process. */
export function createSink(stream: OutputStream): Sink {
  let lost: string | undefined;
  let tell: ((code: string) => void) | undefined;
  const waiting = new Set<() => void>();

  const wake = () => {
    for (const goOn of waiting) goOn();
    waiting.clear();
  };
  stream.on('drain', wake);
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (lost !== undefined) return;
    lost = error.code ?? error.message;
    wake();
    tell?.(lost);
  });

  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns || 80;
    },
    get isBehind() {
      return (stream.writableLength ?? 0) > maxBacklog;
    },
    get lost() {
      return lost;
    },
    write: (text) => {
      if (lost === undefined && text !== '') stream.write(text);
    },
    drained: async () => {
      if (lost === undefined && stream.writableNeedDrain === true) {
        await new Promise<void>((goOn) => waiting.add(goOn));
      }
    },
    onLost: (told) => {
      tell = told;
      if (lost !== undefined) told(lost);
    },
  };
}

/** Bytes. A pipe's reader that has stopped does not stop us; what it does not take waits in our memory. */
const maxBacklog = 1024 * 1024;

// Both from the start: to look at a terminal for the first time when it is closed can fail.
export const stdout = createSink(process.stdout);
export const stderr = createSink(process.stderr);

/**
 * Writes to stdout what a command is there to give, and waits for its reader. One that has gone has seen enough.
 * @throws TroubleError `STDOUT_UNWRITABLE` where no reader, but a disk does not take it: a listing would be cut short.
 */
export async function print(text: string): Promise<void> {
  stdout.write(text);
  await stdout.drained();
  // An error is told in a later turn than the write.
  await new Promise((goOn) => setImmediate(goOn));
  const { lost } = stdout;
  if (lost === undefined || isReaderGone(lost, stdout.isTTY)) return;
  throw new TroubleError('STDOUT_UNWRITABLE', `stdout can no longer be written: ${lost}`, {
    hint: 'make room where stdout is written to, and type the same command again',
    facts: { code: lost },
  });
}

function isReaderGone(code: string, isTTY: boolean): boolean {
  return code === 'EPIPE' || code === 'ECONNRESET' || (code === 'EIO' && isTTY);
}

/** `--json`: one object a line on stdout, the last one of type `summary`. */
type LineType = 'progress' | 'run' | 'check' | 'summary';

/** Beside work that goes on whether anybody reads it or not. */
export function writeJson(type: LineType, fields: object): void {
  stdout.write(lineOf(type, fields));
}

/** What a command is there to give. @throws TroubleError as `print` does. */
export async function printJson(type: LineType, fields: object): Promise<void> {
  await print(lineOf(type, fields));
}

function lineOf(type: LineType, fields: object): string {
  return `${JSON.stringify({ type, ...fields })}\n`;
}
