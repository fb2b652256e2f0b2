/** Why a file could not be read, in words. */

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'access is denied',
};

/** @returns the system's code, and what it means where that is known. */
export function readFailure(error: unknown): { readonly code: string; readonly words: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return { code, words: READ_FAILURES[code] ?? code };
}
