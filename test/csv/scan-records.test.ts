import { describe, expect, it } from 'vitest';
import { type ScanOptions, scanBuffer, scanRecords } from '../../src/csv/scan-records.js';
import { type Found, foundBy } from '../helpers/csv/batches.js';

function scan(text: string | Buffer, fields: number, changes: Partial<ScanOptions> = {}): Promise<Found[]> {
  return foundBy(fields, changes, (options) => scanBuffer(Buffer.from(text as string), options));
}

async function values(text: string, fields: number, changes: Partial<ScanOptions> = {}): Promise<unknown[]> {
  return (await scan(text, fields, changes)).map((found) => ('values' in found ? found.values : found.code));
}

describe('records', () => {
  it.each([
    [
      'LF, CRLF and no line end',
      'a,b\nc,d\r\ne,f',
      [
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f'],
      ],
    ],
    [
      'quoted delimiters, quotes and line ends',
      '"a,b","c""d"\n"e\nf","g\r\nh"\r\n',
      [
        ['a,b', 'c"d'],
        ['e\nf', 'g\r\nh'],
      ],
    ],
    [
      'empty fields',
      ',\n"",\n,""',
      [
        ['', ''],
        ['', ''],
        ['', ''],
      ],
    ],
    [
      'empty lines, which are nothing',
      '\n\r\na,b\n\n\r\nc,d\n\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a lone CR, which is data',
      'a\rb,\r\n\rc,d\r',
      [
        ['a\rb', ''],
        ['\rc', 'd\r'],
      ],
    ],
    ['a CR before CRLF', 'a,b\r\r\n', [['a', 'b\r']]],
    ['nothing', '', []],
  ])('finds %s', async (_, text, expected) => {
    expect(await values(text, 2)).toEqual(expected);
  });

  it('reads a quoted empty field of one column as a record, and an empty line not', async () => {
    expect(await values('""\n\nx\n', 1)).toEqual([[''], ['x']]);
  });

  it('finds those beside one of far too many fields', async () => {
    const found = await values(`a,b\nc,d\n${','.repeat(200_000)}\ne,f\n`, 2);
    expect(found).toEqual([['a', 'b'], ['c', 'd'], 'SOURCE_FIELD_COUNT', ['e', 'f']]);
  });

  it('reads other delimiters', async () => {
    expect(await values('a,b;c\n', 2, { delimiter: ';' })).toEqual([['a,b', 'c']]);
    expect(await values('a\t"b\tc"\n', 2, { delimiter: '\t' })).toEqual([['a', 'b\tc']]);
  });

  it('numbers and offsets begin as given in the options', async () => {
    const found = await scan('a,b\n\nc,d\n', 2, { firstRecord: 10, base: 100 });
    expect(found).toMatchObject([
      { record: 10, byte: 100 },
      { record: 11, byte: 105 },
    ]);
  });

  it('returns the number of the record after the last one, bad ones counted', async () => {
    const scanned = scanRecords([Buffer.from('a,b\nc\n')], {
      delimiter: ',',
      fields: 2,
      maxRecordBytes: 100,
      file: 0,
      base: 0,
      firstRecord: 5,
      onBadRecord: () => {},
    });
    expect(await scanned.next()).toMatchObject({ value: { count: 1 } });
    expect(await scanned.next()).toEqual({ done: true, value: 7 });
  });
});

describe('bad records', () => {
  it.each([
    ['SOURCE_FIELD_COUNT', 'a,b\nc\nd,e\n', 'c', ['d', 'e']],
    ['SOURCE_FIELD_COUNT', 'a,b\nc,d,e\r\nf,g', 'c,d,e', ['f', 'g']],
    ['SOURCE_FIELD_COUNT', 'a,b\n"c\nd"\ne,f', '"c\nd"', ['e', 'f']],
    ['SOURCE_QUOTE_MISPLACED', 'a,b\nc"d,e\nf,g\n', 'c"d,e', ['f', 'g']],
    ['SOURCE_QUOTE_MISPLACED', 'a,b\n"c"d,e\r\nf,g\n', '"c"d,e', ['f', 'g']],
    ['SOURCE_QUOTE_MISPLACED', 'a,b\nc,"d"\rx\nf,g\n', 'c,"d"\rx', ['f', 'g']],
    ['SOURCE_QUOTE_MISPLACED', 'a,b\n"c\nd"e,"f\ng,h\n', '"c\nd"e,"f', ['g', 'h']],
    ['SOURCE_QUOTE_NOT_CLOSED', 'a,b\nc,"d\ne,f\n', 'c,"d', ['e', 'f']],
    ['SOURCE_NUL', 'a,b\nc,\0\nd,e\n', 'c,\0', ['d', 'e']],
  ])('%s: %j rejects exactly what it must', async (code, text, raw, next) => {
    const found = await scan(text, 2);
    expect(found).toMatchObject([
      { record: 1 },
      { code, record: 2, line: 2, byte: 4, file: 0, raw },
      { record: 3, values: next },
    ]);
  });

  it('says of a record with too few fields, not of one with too many, that the file ends there without a line end', async () => {
    const unended = ', and the file ends there without a line end';
    const messages = async (text: string) =>
      (await scan(text, 2)).flatMap((one) => ('message' in one ? [one.message] : []));
    expect(await messages('a,b\nc')).toEqual([`the number of fields is 1, not 2${unended}`]);
    expect(await messages('a,b\nc\nd,e,"f"')).toEqual([
      'the number of fields is 1, not 2',
      'the number of fields is 3, not 2',
    ]);
    expect(await messages('a,b\nc\n')).toEqual(['the number of fields is 1, not 2']);
  });

  it('counts physical lines over quoted line ends and empty lines', async () => {
    const found = await scan('"a\nb",c\r\n\nd\n"e\n\nf",\xff\ng\n', 2, { firstLine: 2 });
    expect(found.map((f) => ('line' in f ? f.line : 0))).toEqual([0, 5, 0, 9]);
  });

  it('finds any number of them one after the other, with others between them', async () => {
    const kinds = [
      {
        text: 'a\r\n',
        found: { code: 'SOURCE_FIELD_COUNT', raw: 'a', message: 'the number of fields is 1, not 2' },
      },
      { text: 'a,"b\n",c\n\n', found: { code: 'SOURCE_FIELD_COUNT', raw: 'a,"b\n",c' } },
      { text: 'd,e\n', found: { values: ['d', 'e'] } },
      { text: 'f"\n', found: { code: 'SOURCE_QUOTE_MISPLACED', raw: 'f"' } },
      { text: 'g,\0\n', found: { code: 'SOURCE_NUL', raw: 'g,\0' } },
    ];
    // The rarer a kind, the longer are the rows of records of another number of fields.
    const records = Array.from({ length: 40_000 }, (_, at) => kinds[at % 9_001 === 0 ? at % 5 : at % 2]!);
    let [line, byte] = [1, 0];
    const expected = records.map(({ text, found }, index) => {
      const place = { record: index + 1, byte, ...('code' in found && { line }) };
      line += text.split('\n').length - 1;
      byte += text.length;
      return { ...place, ...found };
    });
    expect(await scan(records.map(({ text }) => text).join(''), 2)).toMatchObject(expected);
  });

  it('does not know the line without the first one', async () => {
    const found: unknown[] = [];
    const options = { delimiter: ',', fields: 2, maxRecordBytes: 9, file: 0, base: 0, firstRecord: 1 };
    for (const _ of scanBuffer(Buffer.from('a\nb\n'), {
      ...options,
      onBadRecord: (b) => found.push(b.line),
    }));
    expect(found).toEqual([0, 0]);
  });

  it('finds bytes that are not UTF-8, in the records that hold them', async () => {
    const found = await scan(Buffer.from('a,é\n\n\xe9,b\nc,d\ne,\xff\n', 'latin1'), 2);
    expect(found).toMatchObject([
      { code: 'SOURCE_ENCODING', record: 1, line: 1 },
      { code: 'SOURCE_ENCODING', record: 2, line: 3, raw: '\xe9,b' },
      { record: 3, values: ['c', 'd'] },
      { code: 'SOURCE_ENCODING', record: 4, line: 5 },
    ]);
  });

  it('treats U+FFFD as lost letters only where the file was decoded from another encoding', async () => {
    const text = 'a,\u{fffd}\nb,c\n';
    expect(await values(text, 2)).toEqual([
      ['a', '\u{fffd}'],
      ['b', 'c'],
    ]);
    expect(await values(text, 2, { transcoded: true })).toEqual(['SOURCE_ENCODING', ['b', 'c']]);
  });

  it('stops where onBadRecord throws', async () => {
    const stop = new Error('stop');
    const onBadRecord = () => {
      throw stop;
    };
    await expect(scan('a,b\nc\n', 2, { onBadRecord })).rejects.toBe(stop);
  });
});

describe('records that are too large', () => {
  it.each([
    ['exactly as large as allowed', '1234,6\n', [['1234', '6']]],
    ['with CRLF behind', '1234,6\r\n', [['1234', '6']]],
    ['at the end of the file', '1234,6', [['1234', '6']]],
    ['one byte larger', '12345,7\na,b\n', ['SOURCE_RECORD_TOO_LARGE', ['a', 'b']]],
    ['larger at the end of the file', '12345,7', ['SOURCE_RECORD_TOO_LARGE']],
    ['with an open quote', '"12\n3,4\n5,6\n', ['SOURCE_RECORD_TOO_LARGE', ['3', '4'], ['5', '6']]],
    ['with a quote misplaced beyond', '1234,67"\na,b', ['SOURCE_RECORD_TOO_LARGE', ['a', 'b']]],
  ])('%s', async (_, text, expected) => {
    expect(await values(text, 2, { maxRecordBytes: 6 })).toEqual(expected);
  });

  it('keeps a record of several windows in one piece', async () => {
    const long = 'x'.repeat(900_000);
    const text = Buffer.from(`a,b\n"${long}\n",c\nd,e\n`);
    const expected = [
      ['a', 'b'],
      [`${long}\n`, 'c'],
      ['d', 'e'],
    ];
    expect(await values(text.toString(), 2)).toEqual(expected);
    const streamed = await foundBy(2, {}, (options) => scanRecords([text], options));
    expect(streamed.map((f) => 'values' in f && f.values)).toEqual(expected);
  });

  it('never holds much more than the largest allowed record', async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    function* endless(): Generator<Buffer> {
      for (let i = 0; i < 64; i++) yield piece;
      yield Buffer.from('\na,b\n');
    }
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    const found = await foundBy(2, { maxRecordBytes: 400_000 }, (options) =>
      scanRecords(
        (function* () {
          for (const some of endless()) {
            peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
            yield some;
          }
        })(),
        options,
      ),
    );
    expect(found).toMatchObject([
      { code: 'SOURCE_RECORD_TOO_LARGE', line: 1 },
      { record: 2, byte: (64 << 20) + 1 },
    ]);
    expect('raw' in found[0]! && found[0].raw.length).toBe(400_000);
    expect(peak).toBeLessThan(8 << 20);
  });
});

describe('batches', () => {
  const text = Array.from({ length: 60_000 }, (_, i) => `${i},"name, ${i}",${i % 7 === 0 ? '' : 'x'}\n`).join(
    '',
  );
  const bytes = Buffer.from(text);

  async function shapes(input: Iterable<Buffer>): Promise<unknown[]> {
    const found: unknown[] = [];
    const options = { delimiter: ',', fields: 3, maxRecordBytes: 500, file: 3, base: 7, firstRecord: 1 };
    for await (const b of scanRecords(input, { ...options, onBadRecord: () => {} })) {
      found.push([
        b.file,
        b.numbers[0],
        b.numbers.length,
        b.count,
        b.fields,
        b.base + b.starts[0]!,
        b.starts.length,
        b.ends.length,
      ]);
    }
    return found;
  }

  it('are the same however the input is cut', async () => {
    const whole = await shapes([bytes]);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 997) pieces.push(bytes.subarray(at, at + 997));
    expect(whole.length).toBeGreaterThan(3);
    expect(await shapes(pieces)).toEqual(whole);
  });

  it('hold every record once, in order, in a Buffer as in a stream', async () => {
    const expected = text.trimEnd().split('\n');
    const streamed = await foundBy(3, {}, (options) => scanRecords([bytes], options));
    const buffered = await foundBy(3, {}, (options) => scanBuffer(bytes, options));
    expect(streamed.length).toBe(expected.length);
    expect(streamed).toEqual(buffered);
    expect(streamed[59_999]).toMatchObject({ record: 60_000, values: ['59999', 'name, 59999', 'x'] });
  });
});
