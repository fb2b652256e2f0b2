/** The error for a file that cannot be read, from what the system or zlib said of it. */
import { SourceError } from '../errors/index.js';

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'check source.path: relative paths in a config file are relative to that file',
  EACCES: 'give this user the right to read the file and its folders',
  EISDIR: 'source.path must name a file, or a pattern such as folder/*.csv',
};

/** `SOURCE_MISSING` where there is no such file, else `SOURCE_UNREADABLE` with the cause. */
export function unreadable(path: string, cause: unknown): SourceError {
  const systemCode = codeOf(cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  const isMissing = systemCode === 'ENOENT';
  const isGzip = systemCode.startsWith('Z_');
  return new SourceError(
    isMissing ? 'SOURCE_MISSING' : 'SOURCE_UNREADABLE',
    isMissing ? `${path}: there is no such file` : `${path}: ${isGzip ? 'broken gzip: ' : ''}${reason}`,
    {
      hint: isGzip
        ? 'copy the file again: it is cut off or damaged'
        : (HINTS[systemCode] ?? 'check the disk'),
      facts: { file: path, reason: systemCode },
      cause,
    },
  );
}

function codeOf(cause: unknown): string {
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'UNKNOWN';
}
