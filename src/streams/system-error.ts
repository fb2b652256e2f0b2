/** Explains error codes of the operating system about a file or a folder. */

export type DiskTrouble = 'full' | 'unwritable' | 'failed' | 'too-many-files';

const meanings: Readonly<Record<string, DiskTrouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'unwritable',
  EPERM: 'unwritable',
  EROFS: 'unwritable',
  ENOTDIR: 'unwritable',
  EEXIST: 'unwritable',
  EIO: 'failed',
  EMFILE: 'too-many-files',
  ENFILE: 'too-many-files',
};

/** The trouble that an error code of the system means; undefined for other codes. */
export function diskTrouble(code: string): DiskTrouble | undefined {
  return Object.hasOwn(meanings, code) ? meanings[code] : undefined;
}

/** The error's code as text; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error says that a file or a folder does not exist. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}
