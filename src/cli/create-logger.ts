/** pino to stderr, as text or JSON lines, and to a file; the token is blotted out wherever it could stand. */
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { ConfigError } from '../../pipelines/index.js';
import type { CommonOptions } from './common-options.js';
import { createTerminal, type Terminal } from './terminal.js';

export type LogOptions = Pick<CommonOptions, 'logLevel' | 'logFormat' | 'logFile'>;

/**
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
    colorize: process.stderr.isTTY,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    hideObject: true,
  });
  const write = (line: string) => terminal.write(logFormat === 'json' ? line : asText(line));
  const streams: pino.StreamEntry[] = [{ level: 'debug', stream: { write } }];
  if (logFile !== undefined) {
    streams.push({ level: 'debug', stream: openLogFile(logFile) });
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

function openLogFile(path: string): pino.DestinationStream {
  try {
    return pino.destination({ dest: path, sync: true, mkdir: true, mode: 0o600 });
  } catch (cause) {
    throw new ConfigError('LOG_FILE_UNWRITABLE', `--log-file: ${path} cannot be written`, {
      hint: 'name a file in a folder where this user may write',
      facts: { path },
      cause,
    });
  }
}

function blot(line: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '[secret]')), line);
}
