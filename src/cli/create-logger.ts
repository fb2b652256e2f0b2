/** pino to stderr, as text or JSON lines, and to a file; the token is blotted out wherever it could stand. */
import { mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { ConfigError, type Logger } from '../../pipelines/index.js';
import type { CommonOptions } from './common-options.js';
import { stderr } from './output.js';
import { createTerminal, type Terminal } from './terminal.js';

export type LogOptions = Pick<CommonOptions, 'logLevel' | 'logFormat' | 'logFile'>;

/**
 * Never throws once it is there: a place that can no longer be written is told at the other one, once.
 * @param secrets texts that must not be written, whatever brought them into a line.
 * @throws ConfigError when the log file cannot be written.
 */
export function createLogger(
  options: LogOptions,
  secrets: readonly string[],
  terminal: Pick<Terminal, 'write'> = createTerminal(),
): pino.Logger {
  const { logLevel: level, logFormat, logFile } = options;
  const asText = prettyFactory({
    colorize: stderr.isTTY,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    hideObject: true,
  });
  // Later: another line is being written just then.
  const tellLost = (place: string) => (code: string) => queueMicrotask(() => warnLost(logger, place, code));

  let leftOut = 0;
  const write = (line: string) => {
    if (stderr.isBehind) {
      leftOut += 1;
      return;
    }
    terminal.write(logFormat === 'json' ? line : asText(line));
    if (leftOut === 0) return;
    const count = leftOut;
    leftOut = 0;
    queueMicrotask(() =>
      logger.warn({ leftOut: count }, `${count} log lines are left out here: nobody has read them in time`),
    );
  };
  const streams: pino.StreamEntry[] = [{ level: 'debug', stream: { write } }];
  if (logFile !== undefined) {
    streams.push({ level: 'debug', stream: openLogFile(logFile, tellLost(logFile)) });
  }
  stderr.onLost(tellLost('stderr'));
  const logger = pino(
    {
      level,
      base: null,
      redact: { paths: ['token', '*.token', '*.*.token'], censor: '[secret]' },
      hooks: { streamWrite: (line) => blot(line, secrets) },
    },
    pino.multistream(streams),
  );
  return logger;
}

/** @param code as the system calls the trouble: `ENOSPC`. */
export function warnLost(logger: Logger, place: string, code: string): void {
  logger.warn({ place, code }, `${place} can no longer be written (${code}): the work goes on without it`);
}

function blot(line: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '[secret]')), line);
}

/** The log file: lines appended as they come. A full disk, or a reader that has gone, ends the writing, never the work. */
export interface LogFile {
  /** Never throws. */
  write(line: string): void;
}

/**
 * @param onLost told once, when the file can no longer be written, and why: `ENOSPC`.
 * @throws ConfigError when it cannot be opened.
 */
export function openLogFile(path: string, onLost: (code: string) => void): LogFile {
  const file = open(path);
  let isLost = false;
  return {
    write: (line) => {
      if (isLost) return;
      try {
        writeWhole(file, line);
      } catch (error) {
        isLost = true;
        onLost((error as NodeJS.ErrnoException).code ?? String(error));
      }
    },
  };
}

function open(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    throw new ConfigError('LOG_FILE_UNWRITABLE', `--log-file: ${path} cannot be written`, {
      hint: 'name a file in a folder where this user may write',
      facts: { path },
      cause,
    });
  }
}

/** On a disk that is nearly full, less than all may be written at first. */
function writeWhole(file: number, line: string): void {
  let rest = Buffer.from(line);
  while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
}
