/** A JSON body with base64 content written piece by piece, so that a part of any size passes in flat memory. */
import { Readable } from 'node:stream';

export interface DownloadBody {
  /** The part's bytes, asked for only as fast as the client reads. */
  readonly content: Iterable<Uint8Array>;
  readonly filename: string;
  readonly message: string;
}

const HEAD = Buffer.from('{"response":{"content":"');

/** Where the base64 begins in the reply's bytes. */
export const CONTENT_OFFSET = HEAD.length;

/** The download reply of the interface, 4.3: `{"response":{"content","filename"},"message"}`. */
export function base64Json(body: DownloadBody): Readable {
  return Readable.from(writeJson(body), { objectMode: false });
}

function* writeJson(body: DownloadBody): Generator<Buffer> {
  yield HEAD;
  for (const text of encodeBase64(body.content)) yield Buffer.from(text, 'latin1');
  const tail = `","filename":${JSON.stringify(body.filename)}},"message":${JSON.stringify(body.message)}}`;
  yield Buffer.from(tail);
}

/** Encodes whole groups of three bytes and carries the rest over: padding stands only at the very end. */
function* encodeBase64(pieces: Iterable<Uint8Array>): Generator<string> {
  let carried = Buffer.alloc(0);
  for (const piece of pieces) {
    const bytes = Buffer.concat([carried, piece]);
    const whole = bytes.length - (bytes.length % 3);
    carried = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (carried.length > 0) yield carried.toString('base64');
}
