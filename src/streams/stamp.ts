/** A cheap mark of a file's state: as far as the system tells, an equal stamp means an unchanged file. */
import { type BigIntStats, fstatSync, statSync } from 'node:fs';

/** The stamp of an open file: size, times in nanoseconds, device and inode. Undefined if its length is not `bytes`. */
export function stampOf(file: number, bytes: number): string | undefined {
  return toStamp(fstatSync(file, { bigint: true }), bytes);
}

/** The stamp of the file at a path; undefined also if there is none. */
export function stampAt(path: string, bytes?: number): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && toStamp(found, bytes);
}

/** Size, times and inode, without the device. */
export function stampText({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
}

/** The same of what `stat` has told. */
export function toStamp(found: BigIntStats, bytes?: number): string | undefined {
  const isWhole = bytes === undefined || found.size === BigInt(bytes);
  return isWhole ? `${found.dev}-${stampText(found)}` : undefined;
}
