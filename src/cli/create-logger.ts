/** pino to stderr, as text or JSON lines, and to a file; the token is blotted out wherever it could stand. */
import pino from 'pino';
import pretty from 'pino-pretty';
import type { CommonOptions } from './common-options.js';

export type LogOptions = Pick<CommonOptions, 'logLevel' | 'logFormat' | 'logFile'>;

/** @param secrets texts that must not be written, whatever brought them into a line. */
export function createLogger(options: LogOptions, secrets: readonly string[]): pino.Logger {
  const { logLevel: level, logFormat, logFile } = options;
  const terminal =
    logFormat === 'json'
      ? pino.destination({ fd: 2, sync: true })
      : pretty({
          colorize: process.stderr.isTTY,
          destination: 2,
          sync: true,
          translateTime: 'SYS:HH:MM:ss',
          ignore: 'pid,hostname',
          hideObject: true,
        });
  const streams: pino.StreamEntry[] = [{ level: 'debug', stream: terminal }];
  if (logFile !== undefined) {
    const file = pino.destination({ dest: logFile, sync: true, mkdir: true, mode: 0o600 });
    streams.push({ level: 'debug', stream: file });
  }
  return pino(
    {
      level,
      base: null,
      redact: { paths: ['token', '*.token', '*.*.token'], censor: '[secret]' },
      hooks: { streamWrite: (line) => blot(line, secrets) },
    },
    pino.multistream(streams),
  );
}

function blot(line: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '[secret]')), line);
}
