/** What tells cheaply, as far as the system can, whether a file was touched since it was last looked at. */
import { type BigIntStats, fstatSync, statSync } from 'node:fs';

/** Size, times in nanoseconds, device and inode as one text; undefined where the file has another length. */
export function stampOf(file: number, bytes: number): string | undefined {
  return toStamp(fstatSync(file, { bigint: true }), bytes);
}

/** The same of what stands under a path; undefined also where nothing does. */
export function stampAt(path: string, bytes?: number): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && toStamp(found, bytes);
}

/** Size, times and inode as one text. */
export function stampText({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
}

/** The same of what `stat` has told. */
export function toStamp(found: BigIntStats, bytes?: number): string | undefined {
  const isWhole = bytes === undefined || found.size === BigInt(bytes);
  return isWhole ? `${found.dev}-${stampText(found)}` : undefined;
}
