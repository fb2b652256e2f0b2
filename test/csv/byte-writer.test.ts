import { expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { COMMA } from '../../src/csv/bytes.js';

it('grows as it is written to', () => {
  const out = new ByteWriter(1);
  const source = Buffer.from('0123456789'.repeat(20));
  for (let i = 0; i < 50; i++) {
    out.byte(COMMA);
    out.ascii('abc');
    out.utf8('é📒');
    out.copy(source, 3, 7);
    out.copy(source, 0, 200);
  }
  const once = `,abcé📒3456${source.toString()}`;
  expect(out.length).toBe(Buffer.byteLength(once) * 50);
  expect(Buffer.from(out.view()).toString()).toBe(once.repeat(50));
});

it.each([0, 7, 9, 10, 99, 100, 1_234_567, 4_294_967_296, 999_999_999_999_999])(
  'writes the number %d',
  (value) => {
    const out = new ByteWriter(1);
    out.number(value);
    expect(out.take().toString()).toBe(String(value));
  },
);

it('writes UTF-8 that is mostly ASCII, short and long', () => {
  const out = new ByteWriter(1);
  for (const text of ['', 'ascii', 'asciié', `${'x'.repeat(200)}é`, 'x'.repeat(200)]) {
    out.utf8(text);
    expect(out.take().toString()).toBe(text);
  }
});

it('returns a copy of what was written, and is empty afterwards', () => {
  const out = new ByteWriter(8);
  out.ascii('first');
  const first = out.take();
  expect(out.length).toBe(0);
  out.ascii('other');
  expect(first.toString()).toBe('first');
  out.clear();
  expect(out.take().length).toBe(0);
});
