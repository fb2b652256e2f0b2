/**
 * Small gzip files without compression: a member with one stored block (RFC 1952, RFC 1951 section 3.2.4). Any program
 * for gzip reads them. For so few bytes, compressing takes longer than all else that is done with a file.
 */
import { crc32 } from 'node:zlib';

/** Most bytes of content that are stored. A larger one is worth its compression. */
export const MAX_STORED_BYTES = 16 * 1024;

/** Magic number, deflate, no flags, no time, no extra flags, unknown system; then the mark of a last, stored block. */
const HEAD = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1);
/** The block's length and its complement, two bytes each. */
const LENGTHS_BYTES = 4;
/** The checksum and the length of the content, four bytes each. */
const TRAILER_BYTES = 8;

/** @param content at most `MAX_STORED_BYTES`. */
export function storedGzip(content: Uint8Array): Buffer {
  const size = content.length;
  const start = HEAD.length + LENGTHS_BYTES;
  const file = Buffer.allocUnsafe(start + size + TRAILER_BYTES);
  HEAD.copy(file);
  file.writeUInt16LE(size, HEAD.length);
  file.writeUInt16LE(size ^ 0xffff, HEAD.length + 2);
  file.set(content, start);
  file.writeUInt32LE(crc32(content), start + size);
  file.writeUInt32LE(size, start + size + 4);
  return file;
}

/**
 * The content of a file of one such member; undefined for any other file. Does not check the checksum: the caller knows
 * the hash of the content.
 */
export function storedContent(file: Buffer): Buffer | undefined {
  const start = HEAD.length + LENGTHS_BYTES;
  if (file.length < start + TRAILER_BYTES || !file.subarray(0, HEAD.length).equals(HEAD)) return undefined;
  const size = file.readUInt16LE(HEAD.length);
  return file.length === start + size + TRAILER_BYTES ? file.subarray(start, start + size) : undefined;
}
