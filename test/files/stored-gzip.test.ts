import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_STORED_BYTES, storedContent, storedGzip } from '../../src/files/stored-gzip.js';

it('is read by gzip, and read back', () => {
  const content = fc.uint8Array({ maxLength: MAX_STORED_BYTES, size: 'max' });
  fc.assert(
    fc.property(content, (bytes) => {
      const file = storedGzip(bytes);
      expect(gunzipSync(file).equals(bytes)).toBe(true);
      expect(storedContent(file)?.equals(bytes)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it('any other file is left to gzip: a cut one, one with more members, a compressed one', () => {
  const file = storedGzip(Buffer.from('id,code\n1,x\n'));
  const others = [
    Buffer.alloc(0),
    file.subarray(0, -1),
    file.subarray(0, 5),
    Buffer.concat([file, file]),
    Buffer.concat([file, Buffer.of(0)]),
    gzipSync('id,code\n1,x\n'),
  ];
  expect(others.map(storedContent)).toEqual(others.map(() => undefined));
});
