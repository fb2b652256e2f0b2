/** A cheap mark of a file's state: if the stamp is equal, the file is unchanged, as far as the system shows. */
import { type BigIntStats, fstatSync, statSync } from 'node:fs';

/** The stamp of an open file: size, times in nanoseconds, device and inode. Undefined if its length is not `bytes`. */
export function stampOf(file: number, bytes: number): string | undefined {
  return toStamp(fstatSync(file, { bigint: true }), bytes);
}

/** The stamp of the file at a path; undefined if there is no file or its length is not `bytes`. */
export function stampAt(path: string, bytes?: number): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && toStamp(found, bytes);
}

/** Size, times and inode, without the device. */
export function stampText({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
}

/** The stamp for the facts that `stat` returned; undefined if the length is not `bytes`. */
export function toStamp(found: BigIntStats, bytes?: number): string | undefined {
  const isWhole = bytes === undefined || found.size === BigInt(bytes);
  return isWhole ? `${found.dev}-${stampText(found)}` : undefined;
}
