/**
 * stdout and stderr. Only this file writes to them, and what it writes cannot act on a terminal. A lost reader, a
 * closed terminal or a full disk ends the output, never the work.
 */
import { isatty } from 'node:tty';
import type { InputStream } from '../../pipelines/index.js';
import { TroubleError } from '../errors.js';
import { safeJson, safeLines } from '../text.js';
import { nextSteps } from './texts/next-steps.js';

/** stdout or stderr, or a substitute in a test. */
type OutputStream = Pick<NodeJS.WriteStream, 'write' | 'on'> &
  Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows' | 'writableLength' | 'writableNeedDrain'>>;

export interface Sink {
  readonly isTTY: boolean;
  /** Characters in a line of the terminal. */
  readonly columns: number;
  /** Lines of the terminal. */
  readonly rows: number;
  /** Whether too much text waits in memory for the reader: then less important text should be left out. */
  readonly isBehind: boolean;
  /** The system's code of the error that ended the output, such as `EPIPE` or `ENOSPC`; undefined without an error. */
  readonly lost: string | undefined;
  /**
   * Writes lines without waiting; does nothing once the sink is lost. Never throws. Escapes unprintable characters,
   * which could act on a terminal.
   */
  write(text: string): void;
  /** Writes text with control sequences for a terminal. The caller must have escaped what comes from outside. */
  writeStyled(text: string): void;
  /** Waits for a reader that is slower than the writer. */
  drained(): Promise<void>;
  /** Sets the only listener. It is called once, when the sink is lost, or at once if it is already lost. */
  onLost(listener: (code: string) => void): void;
}

/** Handles the stream's errors from now on: an error without a listener would end the process. */
export function createSink(stream: OutputStream): Sink {
  let lost: string | undefined;
  let lostListener: ((code: string) => void) | undefined;
  const waiting = new Set<() => void>();

  const wake = () => {
    for (const resume of waiting) resume();
    waiting.clear();
  };
  stream.on('drain', wake);
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (lost !== undefined) return;
    lost = error.code ?? error.message;
    wake();
    lostListener?.(lost);
  });

  const write = (text: string) => {
    if (lost === undefined && text !== '') stream.write(text);
  };
  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
    get isBehind() {
      return (stream.writableLength ?? 0) > maxBacklog;
    },
    get lost() {
      return lost;
    },
    write: (text) => write(safeLines(text)),
    writeStyled: write,
    drained: async () => {
      if (lost === undefined && stream.writableNeedDrain === true) {
        await new Promise<void>((resume) => waiting.add(resume));
      }
    },
    onLost: (listener) => {
      lostListener = listener;
      if (lost !== undefined) listener(lost);
    },
  };
}

/** In bytes. The reader of a pipe may stop reading without closing it; then the text waits in our memory. */
const maxBacklog = 1024 * 1024;

// Both are created at the start, because the first use of a terminal can fail after it was closed.
export const stdout = createSink(process.stdout);
export const stderr = createSink(process.stderr);

/**
 * Writes a command's result to stdout and waits for the reader. A reader that has closed the pipe is no error.
 * @throws TroubleError `STDOUT_UNWRITABLE` when a disk cannot take the text, because the result would be incomplete.
 */
export async function print(text: string): Promise<void> {
  stdout.write(text);
  await stdout.drained();
  // The stream reports an error in a later turn than the write.
  await new Promise((resume) => setImmediate(resume));
  const { lost } = stdout;
  if (lost === undefined || isReaderGone(lost, stdout.isTTY)) return;
  throw new TroubleError('STDOUT_UNWRITABLE', `stdout can no longer be written: ${lost}`, {
    hint: 'free some space where stdout is written to, and run the same command again',
    facts: { code: lost },
  });
}

function isReaderGone(code: string, isTTY: boolean): boolean {
  return code === 'EPIPE' || code === 'ECONNRESET' || (code === 'EIO' && isTTY);
}

/** The types of lines with `--json`: one object a line on stdout; the last line is a `summary`. */
type LineType = 'progress' | 'run' | 'check' | 'segment' | 'key' | 'summary';

/** Writes a line without waiting for the reader, because the work goes on without one. */
export function writeJson(type: LineType, fields: object): void {
  stdout.write(jsonLine(type, fields));
}

/** Writes a line of a command's result. @throws TroubleError as `print` does. */
export async function printJson(type: LineType, fields: object): Promise<void> {
  await print(jsonLine(type, fields));
}

/** Prints the result of a command, as the last line of `--json` or for people. @throws TroubleError as `print` does. */
export async function printResult(
  { json }: { readonly json?: boolean },
  fields: object,
  text: string,
): Promise<void> {
  await print(json ? jsonLine('summary', fields) : nextSteps(text));
}

/** As `printResult`, with a line of `--json` for each item before it. */
export async function printList(
  options: { readonly json?: boolean },
  type: LineType,
  items: readonly object[],
  fields: object,
  text: string,
): Promise<void> {
  for (const item of options.json ? items : []) await printJson(type, item);
  await printResult(options, fields, text);
}

function jsonLine(type: LineType, fields: object): string {
  return `${safeJson({ type, ...fields })}\n`;
}

/** Standard input as a terminal, on which a person answers questions. */
export function terminalInput(): NodeJS.ReadStream {
  return process.stdin;
}

/** Standard input as the source of a run. The process's stream is not touched before its first piece is wanted. */
export const standardInput: InputStream = {
  get isTTY() {
    return isatty(0);
  },
  destroy: () => process.stdin.destroy(),
  [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
};
