/** pino to stderr, as text or JSON lines, and to a file; the token is blotted out wherever it could stand. */
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Logger } from '../../pipelines/index.js';
import type { CommonOptions } from './common-options.js';
import { openLogFile } from './log-file.js';
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
