/** The streamed download reply is the same JSON as one made in memory, and is read only as fast as it is sent. */
import { createHash, randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base64Json } from '../../../src/service/http/answer.js';
import { forTime } from '../../helpers/properties/for-time.js';

describe('base64Json', () => {
  it('is one JSON text with canonical base64, however the content is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 })), fc.string(), async (content, filename) => {
        const body = JSON.parse(await text(base64Json({ content, filename, message: 'a "message"' })));
        expect(body).toEqual({
          response: { content: Buffer.concat(content).toString('base64'), filename },
          message: 'a "message"',
        });
      }),
      forTime(1_500),
    );
  });

  it('reads the content only as fast as the reply is read', async () => {
    const piece = randomBytes(100_000);
    let given = 0;
    function* content() {
      for (; given < 200; given++) yield piece;
    }
    const hash = createHash('sha256');
    let read = 0;
    for await (const bytes of base64Json({ content: content(), filename: 'a.csv', message: '' })) {
      read += bytes.length;
      hash.update(bytes);
      expect(given * 133_000 - read).toBeLessThan(1_000_000);
    }
    const whole = Buffer.concat(Array.from({ length: 200 }, () => piece)).toString('base64');
    const expected = JSON.stringify({ response: { content: whole, filename: 'a.csv' }, message: '' });
    expect(hash.digest('hex')).toBe(createHash('sha256').update(expected).digest('hex'));
  });
});
