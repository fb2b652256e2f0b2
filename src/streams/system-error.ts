/** Reads codes of the operating system, and treats missing files as empty. `src/disk-error.ts` explains the codes. */
import { readdirSync } from 'node:fs';

/** The error's code as text; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error says that a file or a folder does not exist. */
export function isFileMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** For a `catch`: gives undefined if a file or a folder does not exist, and throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (isFileMissing(error)) return undefined;
  throw error;
}

/** The names in a folder, in any order; none if it does not exist. @throws the system's error. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ignoreMissing(error) ?? [];
  }
}

/** Adds the path to a system error that names no file, because it is about a file that is open. */
export function withPath(error: unknown, path: string): unknown {
  const isUnnamed = error instanceof Error && 'syscall' in error && !('path' in error);
  return isUnnamed ? Object.assign(error, { path }) : error;
}
