/** One attempt at a part: decodes the reply while its consumer reads, and tells whose error it was. */
import { type ErrorFacts, UntrustedError } from '../errors.js';
import { decodeBase64Json } from '../streams/base64-json.js';
import type { Bytes } from '../types.js';
import type { HttpReply } from './send-request.js';

/** Where the interface puts the content (2.1), and how much may stand around it. */
const CONTENT = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };

/**
 * Hands the decoded bytes to `consume` and returns its result. A failure of the body counts even where the
 * consumer throws something else because of it, or nothing; only its own errors pass as they are.
 * @throws AttemptError, MalformedReplyError from the reply's body.
 * @throws UntrustedError when more than `maxBytes` come.
 */
export async function consumePart<T>(
  reply: HttpReply,
  consume: (content: AsyncIterable<Buffer>) => Promise<T>,
  maxBytes: Bytes,
  facts: ErrorFacts,
): Promise<T> {
  let bodyError: unknown;
  async function* content(): AsyncGenerator<Buffer> {
    try {
      yield* limit(decodeBase64Json(reply.body, CONTENT), maxBytes, facts);
    } catch (error) {
      bodyError = error;
      throw error;
    }
  }
  let result: T;
  try {
    result = await consume(content());
  } catch (error) {
    throw bodyError ?? error;
  } finally {
    reply.discard();
  }
  if (bodyError !== undefined) throw bodyError;
  return result;
}

async function* limit(
  content: AsyncIterable<Buffer>,
  maxBytes: Bytes,
  facts: ErrorFacts,
): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const bytes of content) {
    length += bytes.length;
    if (length > maxBytes) {
      throw new UntrustedError('PART_TOO_LARGE', `download: the part has more than ${maxBytes} bytes`, {
        hint: 'no honest part is that large; ask the service provider about this folio',
        facts: { ...facts, maxBytes },
      });
    }
    yield bytes;
  }
}
