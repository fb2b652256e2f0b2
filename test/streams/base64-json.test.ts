/** The streaming decoder: every shape of reply, cut at every byte. */
import { describe, expect, test } from 'vitest';
import { decodeBase64Json } from '../../src/streams/base64-json.js';
import { MalformedReplyError } from '../../src/streams/malformed-reply-error.js';

const OPTIONS = { path: ['response', 'content'], maxOtherBytes: 4096 };

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield new Uint8Array(bytes.subarray(at, at + size));
}

async function decode(json: string | Buffer, size = 1 << 16, options = OPTIONS): Promise<string> {
  const decoded: Buffer[] = [];
  for await (const bytes of decodeBase64Json(pieces(Buffer.from(json), size), options)) {
    decoded.push(Buffer.from(bytes));
  }
  return Buffer.concat(decoded).toString();
}

const withContent = (text: string) => `{"response":{"content":"${text}"}}`;

test.each([
  ['the usual shape', '{"response":{"content":"QUJDRA==","filename":"a.csv"},"message":"ok"}', 'ABCD'],
  ['another order', '{"message":"ok","response":{"filename":"a.csv","content":"QUJDRA=="}}', 'ABCD'],
  ['white space and a byte order mark', '\ufeff \r\n{ "response" :\t{ "content" : "QUJD" } }\n ', 'ABC'],
  [
    'other members of any shape',
    '{"a":[1,{"content":"QQ=="},[[]],"]}"],"b":{"response":{"content":"QQ=="}},"response":{"x":null,"y":-1.5e3,"z":true,"content":"QUJD"}}',
    'ABC',
  ],
  ['keys with escapes', '{"res\\u0070onse":{"\\u0063ontent":"QUJD"}}', 'ABC'],
  [
    'strings with escapes and brackets',
    '{"m":"\\"}{\\\\","response":{"f":"\\\\\\"","content":"QUJD"}}',
    'ABC',
  ],
  ['escaped slashes', withContent('Pz8\\/Pz8\\/'), '???'.repeat(2)],
  ['escaped characters', withContent('\\u0051UJ\\u0044\\u002b\\u002f\\u002B\\u002F'), null],
  ['an empty string', withContent(''), ''],
  ['one byte', withContent('QQ=='), 'A'],
  ['two bytes', withContent('QUI='), 'AB'],
  ['escaped padding', withContent('QQ\\u003d\\u003D'), 'A'],
  ['other text that is not ASCII', '{"message":"señal 🚀","response":{"ключ":"ß","content":"QUJD"}}', 'ABC'],
  ['a doubled key beside the path', '{"m":1,"m":2,"response":{"content":"QUJD"}}', 'ABC'],
])('%s', async (_name, json, expected) => {
  const text = expected ?? Buffer.from((JSON.parse(json) as Reply).response.content, 'base64').toString();
  const bytes = Buffer.from(json);
  for (let size = 1; size <= bytes.length; size += 1) expect(await decode(bytes, size)).toBe(text);
});

interface Reply {
  readonly response: { readonly content: string };
}

const malformed: [string, string][] = [
  ['nothing', ''],
  ['text', 'hello'],
  ['a page', '<html>"response":{"content":"QUJD"}</html>'],
  ['no response', '{"message":"x"}'],
  ['no content', '{"response":{"filename":"QUJD"}}'],
  ['content elsewhere', '{"content":"QUJD","response":{"a":{"content":"QUJD"}}}'],
  ['content in an array', '[{"response":{"content":"QUJD"}}]'],
  ['response in an array', '{"response":[{"content":"QUJD"}]}'],
  ['response that is text', '{"response":"content"}'],
  ['content null', '{"response":{"content":null}}'],
  ['content a number', '{"response":{"content":12}}'],
  ['content a list', '{"response":{"content":["QUJD"]}}'],
  ['content an object', '{"response":{"content":{"content":"QUJD"}}}'],
  ['content twice', '{"response":{"content":"QUJD","content":"QUJD"}}'],
  ['content twice, by an escape', '{"response":{"content":"QUJD","\\u0063ontent":"QUJD"}}'],
  ['content in two responses', '{"response":{"content":"QUJD"},"response":{"content":"QUJD"}}'],
  ['a later response without content', '{"response":{"content":"QUJD"},"response":{}}'],
  ['content taken back', '{"response":{"content":"QUJD","content":null}}'],
  ['an inherited member', '{"response":{"constructor":"QUJD"}}'],
  ['two documents', '{"response":{"content":"QUJD"}}{}'],
  ['a missing comma', '{"response":{"content":"QUJD" "filename":"x"}}'],
  ['a missing colon', '{"response":{"content" "QUJD"}}'],
  ['a trailing comma', '{"response":{"content":"QUJD",}}'],
  ['the wrong bracket', '{"response":{"content":"QUJD"]}'],
  ['a bare word', '{"m":nul,"response":{"content":"QUJD"}}'],
  ['a control character in another string', '{"m":"a\nb","response":{"content":"QUJD"}}'],
  ['a bad escape in a key', '{"\\x":1,"response":{"content":"QUJD"}}'],
  ['a bad escape in another string', '{"m":"\\u12","response":{"content":"QUJD"}}'],
  ['a line break as it is', withContent('QUJD\nQUJD')],
  ['a line break escaped', withContent('QUJD\\nQUJD')],
  ['a carriage return escaped', withContent('QUJD\\u000dQUJD')],
  ['a space', withContent('QUJD QUJD')],
  ['the URL alphabet, minus', withContent('QUJ-QUJD')],
  ['the URL alphabet, underscore', withContent('QUJ_QUJD')],
  ['a strange character', withContent('QUJD*UJD')],
  ['a character that is not ASCII', withContent('QUJÄ')],
  ['an escaped character far away', withContent('QUJD\\u0151UJD')],
  ['an escaped quote', withContent('QUJD\\"QUJD')],
  ['an escaped backslash', withContent('QUJ\\\\/QUJD')],
  ['an escape that is none', withContent('QUJD\\x51UJD')],
  ['a unicode escape that is none', withContent('QUJD\\u00g1UJD')],
  ['one character too few', withContent('QUJDQUJ')],
  ['one character too many', withContent('QUJDQ')],
  ['padding in the middle', withContent('QQ==QUJD')],
  ['padding alone', withContent('====')],
  ['too much padding', withContent('QUJD====')],
  ['too little padding', withContent('QQ=')],
  ['padding too early', withContent('Q===')],
  ['text behind padding', withContent('QQ=Q')],
  ['bits beyond the last byte', withContent('QR==')],
  ['bits beyond the last two bytes', withContent('QUJ=')],
  ['text behind padding, sixteen characters on', withContent('QUJDQUJDQUI=QUJDQUJDQUJDQUJDQUJDQUJD')],
  ['a strange character in a long text', withContent(`${'QUJD'.repeat(20)}QUJ\u007f${'QUJD'.repeat(20)}`)],
  ['a strange character at the end of a long text', withContent(`${'QUJD'.repeat(20)}QU.D`)],
];

test.each(malformed)('%s is malformed', async (_name, json) => {
  const bytes = Buffer.from(json);
  for (const size of [1, 2, 3, 5, 7, bytes.length + 1]) {
    await expect(decode(bytes, size)).rejects.toThrow(MalformedReplyError);
  }
});

const written = 'QUJD'.repeat(19);

test.each([
  ['a line break', `${written}\\r\\n${written}`, 'a line break after 76 characters: MIME', true],
  ['a line break at the end', `${written}\\n`, 'a line break after 76 characters: MIME', true],
  ['a line break as it is', `QUJDQ\nUJD`, 'a line break after 5 characters', true],
  ['white space', `${written}QU JD`, 'white space after 78 characters', true],
  ['the URL alphabet', `${written}Q_JD`, '"_" after 77 characters: that is the alphabet for URLs', true],
  ['any other character', `${written}QUJ*`, '"*" after 79 characters, which is outside its alphabet', false],
  ['the second character', '+*==', '"*" after 1 character, which', false],
  ['an escape', `${written}\\bUJD`, '"\\\\b" after 76 characters, which', false],
])('says what it has found: %s', async (_name, content, found, isWritten) => {
  const bytes = Buffer.from(withContent(content));
  for (const size of [1, 3, 64, bytes.length]) {
    const error = await decode(bytes, size).catch((thrown: unknown) => thrown as MalformedReplyError);
    expect(error).toBeInstanceOf(MalformedReplyError);
    expect((error as MalformedReplyError).message).toContain(`the base64 text holds ${found}`);
    expect((error as MalformedReplyError).breach === null).toBe(!isWritten);
  }
});

test.each([
  ['a line break', 'QQ==\\u000d\\u000a', 'holds a line break after 80 characters'],
  ['a short escape', 'QQ==\\n', 'holds a line break after 80 characters'],
  [
    'a line break behind escapes',
    '\\u0051\\u0051\\u003d\\u003d\\u000d\\u000a',
    'holds a line break after 80',
  ],
  ['another text', 'QQ==QUJD', 'goes on after its padding, at character 80: it must be one text'],
  ['another text in the same four', 'QQ=Q', 'goes on after its padding, at character 79'],
])('says what it has found after padding, wherever that is cut: %s', async (_name, content, found) => {
  const bytes = Buffer.from(withContent(`${written}${content}`));
  for (const size of [1, 2, 3, 5, 7, 64, bytes.length]) {
    const error = await decode(bytes, size).catch((thrown: unknown) => thrown as MalformedReplyError);
    expect((error as MalformedReplyError).message).toContain(`the base64 text ${found}`);
    expect((error as MalformedReplyError).breach).not.toBeNull();
  }
});

describe('a reply cut anywhere is malformed', () => {
  const json = '{"message":"ok","response":{"filename":"x","content":"QUJD\\/UJDRA=="},"n":1}';
  test.each(Array.from({ length: json.length }, (_, length) => json.slice(0, length)))('%j', async (cut) => {
    await expect(decode(cut)).rejects.toThrow(MalformedReplyError);
  });
});

test('other text that is not UTF-8 is malformed', async () => {
  const json = Buffer.from('{"m":"\u00ff","response":{"content":"QUJD"}}', 'latin1');
  await expect(decode(json)).rejects.toThrow(MalformedReplyError);
});

test("the size of everything but the content is limited, the content's is not", async () => {
  const options = { path: ['response', 'content'], maxOtherBytes: 100 };
  const content = 'QUJD'.repeat(5000);
  expect(await decode(withContent(content), 64, options)).toBe('ABC'.repeat(5000));
  const long = `{"message":"${'x'.repeat(100)}","response":{"content":"QUJD"}}`;
  await expect(decode(long, 64, options)).rejects.toThrow(/more than 100 bytes/);
});

test('the depth is limited', async () => {
  const nested = (depth: number) =>
    `{"a":${'['.repeat(depth)}${']'.repeat(depth)},"response":{"content":"QQ=="}}`;
  expect(await decode(nested(60))).toBe('A');
  await expect(decode(nested(200))).rejects.toThrow(/nested/);
});

test('gives bytes while the reply is still arriving, and closes it when its consumer stops early', async () => {
  let isClosed = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      yield Buffer.from('{"response":{"content":"');
      for (;;) yield Buffer.from('QUJD'.repeat(100));
    } finally {
      isClosed = true;
    }
  }
  for await (const bytes of decodeBase64Json(endless(), OPTIONS)) {
    expect(bytes.toString()).toMatch(/^(ABC)+$/);
    break;
  }
  expect(isClosed).toBe(true);
});
