/** Decodes the one huge base64 string of a JSON reply as a stream: what is in memory is one buffer, never the string. */
import { Base64Text, DECODED_BYTES } from './base64-text.js';
import { JsonSkeleton, type JsonSkeletonOptions } from './json-skeleton.js';

/** Most parts are one piece: whatever another thread does with it is asked for once. */
const PIECE_BYTES = 1024 * 1024;
/** Buffers that no reply uses any more: as many as there ever were replies at once. */
const spare: Buffer[] = [];

/**
 * Gives the decoded bytes of the string at `options.path` in pieces of about 1 MiB. Keys may come in any order,
 * other members have any shape, escapes are honoured, and the bytes may be cut anywhere. The string's text must be
 * strict base64 without line breaks. An empty string gives nothing.
 *
 * Each piece is valid until the next one is asked for. What was given is proved only when the generator ends without
 * an error.
 * @throws MalformedReplyError when the JSON is malformed or cut anywhere up to its end, or the string is
 * missing, doubled or not base64, or the rest is larger than `options.maxOtherBytes`.
 */
export async function* decodeBase64Json(
  body: AsyncIterable<Uint8Array>,
  options: JsonSkeletonOptions,
): AsyncGenerator<Buffer> {
  const skeleton = new JsonSkeleton(options);
  const decoded = spare.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  let length = 0;
  let text: Base64Text | undefined;
  try {
    for await (const piece of body) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      for (let at = 0; at < bytes.length; ) {
        if (text === undefined) {
          const { stoppedAt, found } = skeleton.read(bytes, at);
          at = stoppedAt;
          text = found ? new Base64Text() : undefined;
          continue;
        }
        if (length + DECODED_BYTES > PIECE_BYTES) {
          yield decoded.subarray(0, length);
          length = 0;
        }
        length += text.decode(bytes, at, decoded, length);
        at = text.stoppedAt;
        if (text.closed) {
          skeleton.close();
          text = undefined;
        }
      }
    }
    skeleton.end();
    if (length > 0) yield decoded.subarray(0, length);
  } finally {
    spare.push(decoded);
  }
}
