/**
 * Checks the place of a report: it must be free, or hold an earlier report. No other file is replaced: after a typing
 * mistake in `report.html` that could be the source, the config or the token.
 */
import { ConfigError } from '../errors.js';
import { readBeginning } from '../streams/read-pieces.js';
import { lookAt } from './output-place.js';

/** A kind of report: the config key that names its file, and what the beginning of every such file matches. */
interface ReportKind {
  readonly key: string;
  readonly mark: RegExp;
}

export const PAGE: ReportKind = {
  key: 'report.html',
  mark: /^<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n<meta name="generator" content="foliopipe">/,
};

export const METRICS: ReportKind = { key: 'report.textfile', mark: /^# HELP foliopipe_\w+ / };

/** The marks are within this many first bytes. */
const HEAD_BYTES = 256;

/**
 * Checks that a report would replace only an earlier report.
 * @throws ConfigError `REPORT_PLACE_TAKEN`; the system's error when the place cannot be looked at.
 */
export async function refuseForeignReport({ key, mark }: ReportKind, path: string): Promise<void> {
  const found = await lookAt(path);
  if (found === undefined) return;
  if (!found.isFile()) {
    throw placeTaken(key, path, `is ${found.isDirectory() ? 'a folder' : 'no regular file, or a link'}`);
  }
  if (mark.test(String(await readBeginning(path, HEAD_BYTES)))) return;
  throw placeTaken(key, path, 'is there already, and foliopipe has not written it');
}

/** @param why what the place is; follows its path. */
export function placeTaken(key: string, path: string, why: string): ConfigError {
  return new ConfigError('REPORT_PLACE_TAKEN', `${key}: ${path} ${why}`, {
    hint: 'name another file, or move this one away: a report replaces only an earlier report',
    facts: { key, path },
  });
}
