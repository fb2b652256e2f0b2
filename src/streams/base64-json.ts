/** Decodes the one huge base64 string of a JSON reply as a stream: what is in memory is one buffer, never the string. */
import { Base64Decoder } from './base64-decoder.js';
import { JsonSkeleton, type JsonSkeletonOptions } from './json-skeleton.js';
import { JsonStringText } from './json-string-text.js';

/**
 * Gives the decoded bytes of the string at `options.path` as they arrive. Keys may come in any order, other
 * members have any shape, escapes are honoured, and the bytes may be cut anywhere. The string's text must be
 * strict base64 without line breaks. An empty string gives nothing.
 *
 * What was given is proved only when the generator ends without an error.
 * @throws MalformedReplyError when the JSON is malformed or cut anywhere up to its end, or the string is
 * missing, doubled or not base64, or the rest is larger than `options.maxOtherBytes`.
 */
export async function* decodeBase64Json(
  body: AsyncIterable<Uint8Array>,
  options: JsonSkeletonOptions,
): AsyncGenerator<Buffer> {
  const skeleton = new JsonSkeleton(options);
  const decoder = new Base64Decoder();
  let text: JsonStringText | undefined;
  for await (const piece of body) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let at = 0; at < bytes.length; ) {
      if (text === undefined) {
        const { stoppedAt, found } = skeleton.read(bytes, at);
        at = stoppedAt;
        text = found ? new JsonStringText() : undefined;
        continue;
      }
      const decoded = decoder.decode(text.read(bytes, at));
      at = text.stoppedAt;
      if (decoded.length > 0) {
        yield decoded;
      }
      if (text.closed) {
        skeleton.close();
        text = undefined;
      }
    }
  }
  skeleton.end();
  const rest = decoder.end();
  if (rest.length > 0) {
    yield rest;
  }
}
