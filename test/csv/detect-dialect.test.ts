import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { detectDialect } from '../../src/csv/detect-dialect.js';
import { detectEncoding } from '../../src/csv/detect-encoding.js';
import { ConfigError } from '../../src/errors.js';

const AUTO = { encoding: 'auto', delimiter: 'auto', quote: 'auto' as 'auto' | 'none', gzip: false };
const detect = (sample: string | Buffer, fixed: Partial<typeof AUTO> = {}) => {
  const bytes = Buffer.from(sample as string);
  const found = detectEncoding(bytes, fixed.encoding ?? 'auto');
  const text = Buffer.from(iconv.decode(bytes, found.encoding));
  return detectDialect(text, found, { ...AUTO, ...fixed });
};

describe('the delimiter', () => {
  it.each([
    ['a,b,c\n1,2,3\n', ','],
    ['a;b;c\n1;2,5;3,5\n', ';'],
    ['a\tb\n1\t2\n', '\t'],
    ['a|b|c\n1|2|3\n', '|'],
    ['name\nx\n', ','],
    ['"Street; City; Zip",State\n"1; 2; 3",MT\n', ','],
    ['a;b\n"x,\ny,z",1;2\n"1,\n2";3\n', ';'],
    ['id;"name, address"\n1;"A, B"\n2;"C, D"\n', ';'],
    ['a,b;c,d', ','],
    // A quote in the middle of a field, one bad record: the others still agree.
    ['a,b\n1,2\n3,5" pipe\n4,5\n6\n7,8\n', ','],
    // Every record has one more comma than the header: only the bar agrees.
    ['a,b|c\n1,,2|3\n4,,5|6\n', '|'],
  ])('of %j is %j', (sample, delimiter) => {
    expect(detect(sample).delimiter).toBe(delimiter);
  });

  it('is found where a quote is text', () => {
    const text = 'name;note\n"x;1, 2, 3\n5" y;4, 5, 6\n';
    expect(detect(text, { quote: 'none' })).toMatchObject({ delimiter: ';', quote: 'none', newline: 'LF' });
  });

  it('is the fixed one', () => {
    expect(detect('a,b\n1,2\n', { delimiter: '^' }).delimiter).toBe('^');
  });

  it.each(['', ',,', '"', '\n', '\0', 'é', 'tab'])('cannot be %j', (delimiter) => {
    expect(() => detect('a,b\n', { delimiter })).toThrow(ConfigError);
  });
});

describe('line ends', () => {
  it.each([
    ['a,b\n1,"x\r\ny"\n', 'LF'],
    ['a,b\r\n1,2\r\n', 'CRLF'],
    ['a,b\r\n1,2\n', 'mixed'],
    ['a,b', 'none'],
  ])('of %j are %s', (sample, newline) => {
    expect(detect(sample).newline).toBe(newline);
  });
});

describe('the encoding', () => {
  const text = 'näme;city\nx;y\n';

  it.each([
    ['utf8', Buffer.from(text), false],
    ['utf8', Buffer.from(`\u{feff}${text}`), true],
    ['utf16le', iconv.encode(text, 'utf16le'), false],
    ['utf16le', iconv.encode(text, 'utf16le', { addBOM: true }), true],
    ['utf16be', iconv.encode(text, 'utf16be'), false],
    ['utf16be', iconv.encode(text, 'utf16be', { addBOM: true }), true],
    ['utf32le', iconv.encode(text, 'utf32le', { addBOM: true }), true],
    // Never guessed: the scan refuses it and names the setting.
    ['utf8', iconv.encode(text, 'latin1'), false],
  ])('%s is found, and the delimiter in it', (encoding, sample, bom) => {
    expect(detect(sample)).toMatchObject({ encoding, bom, delimiter: ';' });
  });

  it('is taken from the config, however it is spelled', () => {
    const sample = iconv.encode(text, 'latin1');
    expect(detect(sample, { encoding: 'Windows-1252' })).toMatchObject({
      encoding: 'windows-1252',
      bom: false,
    });
    expect(detect(Buffer.from(`\u{feff}${text}`), { encoding: 'UTF-8' })).toMatchObject({
      encoding: 'utf8',
      bom: true,
    });
    const big = iconv.encode(text, 'utf16be', { addBOM: true });
    expect(detect(big, { encoding: 'UTF-16' })).toMatchObject({ encoding: 'utf16be', bom: true });
    expect(detect(iconv.encode('é', 'utf16le'), { encoding: 'utf16' })).toMatchObject({
      encoding: 'utf16le',
    });
  });

  it.each(['klingon', 'base64', ''])('%j is refused', (encoding) => {
    expect(() => detect(text, { encoding })).toThrow(expect.objectContaining({ code: 'CONFIG_ENCODING' }));
  });
});
