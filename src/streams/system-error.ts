/** Reads codes of the operating system. `src/disk-error.ts` explains them. */

/** The error's code as text; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error says that a file or a folder does not exist. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** The error with the path of the file that it is about: the system names none for a file that is open. */
export function withPath(error: unknown, path: string): unknown {
  return codeOf(error) === '' || (error as NodeJS.ErrnoException).path
    ? error
    : Object.assign(error as Error, { path });
}
