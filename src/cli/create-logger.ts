/**
 * The logger: pino writes to stderr, as text or JSON lines, and to a file. Hides the secrets that `rememberSecrets`
 * knows when a line is written.
 */

import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Logger } from '../../pipelines/index.js';
import { countOf } from '../quantities.js';
import { safeJsonText, safeLines } from '../text.js';
import type { CommonOptions } from './common-options.js';
import { createTerminal, type Terminal } from './display/terminal.js';
import { openLogFile } from './log-file.js';
import { stderr } from './output.js';
import { redactLine } from './redact.js';
import { nextSteps } from './texts/next-steps.js';

type LogOptions = Pick<CommonOptions, 'logLevel' | 'logFormat' | 'logFile'>;

/**
 * Creates a logger that never throws: if stderr or the file can no longer be written, the other one gets one warning.
 * @throws ConfigError `LOG_FILE_UNWRITABLE` when the log file cannot be opened.
 */
export function createLogger(
  options: LogOptions,
  terminal: Pick<Terminal, 'write' | 'hasBlock'> = createTerminal(),
): pino.Logger {
  const { logLevel: level, logFormat, logFile } = options;
  const { NO_COLOR, TERM } = process.env;
  const asText = prettyFactory({
    colorize: stderr.isTTY && !NO_COLOR && TERM !== 'dumb',
    // A person at the terminal knows the day; a file is read later.
    translateTime: stderr.isTTY ? 'SYS:HH:MM:ss' : 'SYS:yyyy-mm-dd HH:MM:ss',
    ignore: 'pid,hostname',
    hideObject: true,
  });
  // In a microtask, because another line is being written at this moment.
  const warnLater = (target: string) => (code: string) =>
    queueMicrotask(() => warnLost(logger, target, code));

  let leftOut = 0;
  const write = (line: string) => {
    if (stderr.isBehind) {
      leftOut += 1;
      return;
    }
    const record = logFormat === 'json' ? undefined : withSafeMessage(line);
    if (record !== undefined && isShownOtherwise(record, terminal)) return;
    terminal.write(record === undefined ? line : asText(record));
    if (leftOut === 0) return;
    const count = leftOut;
    leftOut = 0;
    queueMicrotask(() =>
      logger.warn(
        { leftOut: count },
        `${countOf(count, 'log line')} left out here, because stderr was not read in time`,
      ),
    );
  };
  const streams: pino.StreamEntry[] = [{ level: 'debug', stream: { write } }];
  if (logFile !== undefined) {
    streams.push({ level: 'debug', stream: openLogFile(logFile, warnLater(logFile)) });
  }
  stderr.onLost(warnLater('stderr'));
  const logger = pino(
    {
      level,
      base: null,
      redact: { paths: ['token', '*.token', '*.*.token'], censor: '[secret]' },
      hooks: {
        logMethod(args, method) {
          const shown = args.map((arg: unknown) => (typeof arg === 'string' ? nextSteps(arg) : arg));
          method.apply(this, shown as typeof args);
        },
        streamWrite: (line) => safeJsonText(redactLine(line)),
      },
    },
    pino.multistream(streams),
  );
  return logger;
}

/** @param code the system's code, such as `ENOSPC`. */
export function warnLost(logger: Logger, target: string, code: string): void {
  logger.warn(
    { place: target, code },
    `${target} can no longer be written (${code}); the work goes on without it`,
  );
}

interface LogRecord {
  readonly msg?: unknown;
  readonly type?: unknown;
}

/** Whether a record is only for the log file: the terminal shows the command, the block and the summary already. */
function isShownOtherwise({ type }: LogRecord, { hasBlock }: Pick<Terminal, 'hasBlock'>): boolean {
  if (type === 'progress') return hasBlock;
  return type === 'start' || type === 'end' || type === 'summary';
}

/** Parses a line of the log to show it as text. Parsing undoes the escapes of JSON, so the message is escaped again. */
function withSafeMessage(line: string): LogRecord {
  const record = JSON.parse(line) as LogRecord;
  return typeof record.msg === 'string' ? { ...record, msg: safeLines(record.msg) } : record;
}
