import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { readDecoded } from '../../src/source/read-decoded.js';
import { PIECE_BYTES } from '../../src/streams/read-pieces.js';
import type { Dialect } from '../../src/types.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();
const PLAIN: Dialect = { encoding: 'utf8', bom: false, delimiter: ',', newline: 'LF', gzip: false };
const TEXT = 'näme,📒\n'.repeat(60_000);

async function read(path: string, dialect: Partial<Dialect>, from = 0): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of readDecoded({ path, dialect: { ...PLAIN, ...dialect } }, from, {}))
    pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

describe('readDecoded', () => {
  const files: [string, Buffer, Partial<Dialect>][] = [
    ['plain UTF-8', Buffer.from(TEXT), {}],
    ['UTF-8 with a byte order mark', Buffer.from(`\u{feff}${TEXT}`), { bom: true }],
    ['gzip', gzipSync(TEXT), { gzip: true }],
    ['gzip of two members', Buffer.concat([gzipSync('näme,'), gzipSync(TEXT.slice(5))]), { gzip: true }],
    ['gzip with a byte order mark', gzipSync(`\u{feff}${TEXT}`), { gzip: true, bom: true }],
    ['UTF-16 LE', iconv.encode(TEXT, 'utf16le', { addBOM: true }), { encoding: 'utf16le', bom: true }],
    // One byte before, so that pieces of the file end in the middle of characters.
    ['UTF-16 BE', iconv.encode(TEXT, 'utf16be'), { encoding: 'utf16be' }],
    ['UTF-16 in gzip', gzipSync(iconv.encode(TEXT, 'utf16le')), { encoding: 'utf16le', gzip: true }],
  ];

  it.each(files)('gives the text of %s, from any offset', async (_, content, dialect) => {
    const path = await write('source', content);
    expect((await read(path, dialect)) === TEXT).toBe(true);
    const from = Buffer.byteLength('näme,📒\n') * 59_999;
    expect(await read(path, dialect, from)).toBe('näme,📒\n');
    expect(await read(path, dialect, Buffer.byteLength(TEXT))).toBe('');
  });

  it('keeps characters whole that the pieces of the file cut', async () => {
    // The first piece ends in the middle of a surrogate pair.
    const text = `${'x'.repeat(PIECE_BYTES / 2 - 1)}📒📒,é`;
    const path = await write('source', iconv.encode(text, 'utf16be'));
    expect((await read(path, { encoding: 'utf16be' })) === text).toBe(true);
  });

  it.each([
    ['latin1', Buffer.from('caf\xe9', 'latin1'), 'café'],
    ['windows-1252', Buffer.from([0x80, 0x81]), '€\u{fffd}'],
    ['shift_jis', iconv.encode('日本', 'shift_jis'), '日本'],
    ['utf_16le', Buffer.from('a\0b'), 'a\u{fffd}'],
  ])('decodes %s', async (encoding, content, expected) => {
    expect(await read(await write('source', content), { encoding })).toBe(expected);
  });

  it.each(['latin1', 'ISO-8859-1', 'l1', 'windows-1252', 'iso-8859-15', 'koi8-r', 'cp437', 'ascii'])(
    'decodes every byte of %s as iconv-lite does',
    async (encoding) => {
      const bytes = Buffer.from(Array.from({ length: PIECE_BYTES + 300 }, (_, at) => (at * 7) % 256));
      const path = await write('source', bytes);
      expect((await read(path, { encoding })) === iconv.decode(bytes, encoding)).toBe(true);
    },
  );

  it('shows the bytes as they are on disk, all of them', async () => {
    for (const [, content, dialect] of files) {
      const path = await write('source', content);
      const hash = createHash('sha256');
      const onRaw = (bytes: Uint8Array) => hash.update(bytes);
      for await (const _ of readDecoded({ path, dialect: { ...PLAIN, ...dialect } }, 0, { onRaw }));
      expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
    }
  });

  it('says which file cannot be read, and why', async () => {
    await expect(read('/nowhere/at-all.csv', {})).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
    await expect(read('/tmp', {})).rejects.toMatchObject({
      code: 'SOURCE_UNREADABLE',
      facts: { reason: 'EISDIR' },
    });
    const cut = await write('cut.gz', gzipSync(TEXT).subarray(0, 200));
    await expect(read(cut, { gzip: true })).rejects.toMatchObject({
      code: 'SOURCE_UNREADABLE',
      message: expect.stringContaining('broken gzip'),
      facts: { file: cut },
    });
  });

  it.each([false, true])('stops with the reason of the signal (gzip: %s)', async (gzip) => {
    const path = await write(
      'source',
      gzip ? gzipSync(Buffer.alloc(8 << 20, 'x')) : Buffer.alloc(8 << 20, 'x'),
    );
    const abort = new AbortController();
    const reason = new Error('enough');
    const all = (async () => {
      for await (const _ of readDecoded({ path, dialect: { ...PLAIN, gzip } }, 0, { signal: abort.signal })) {
        abort.abort(reason);
      }
    })();
    await expect(all).rejects.toBe(reason);
  });
});
