/** The streaming decoder against JSON.parse and Buffer.from, over generated and damaged replies. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase64Json } from '../../src/streams/base64-json.js';
import { MalformedReplyError } from '../../src/streams/malformed-reply-error.js';
import { forTime } from '../helpers/properties/for-time.js';

const OPTIONS = { path: ['response', 'content'], maxOtherBytes: 1 << 20 };
const BUDGET = forTime(800, 3_000);
const CANONICAL = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

async function decode(bytes: Buffer, cuts: readonly number[]): Promise<Buffer> {
  async function* pieces(): AsyncGenerator<Buffer> {
    const offsets = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
    for (let index = 1; index < offsets.length; index += 1) {
      yield bytes.subarray(offsets[index - 1], offsets[index]);
    }
  }
  const decoded: Buffer[] = [];
  for await (const piece of decodeBase64Json(pieces(), OPTIONS)) decoded.push(Buffer.from(piece));
  return Buffer.concat(decoded);
}

/** Writes some characters of a JSON text as escapes; `choices` decides which. */
function escapeText(text: string, choices: readonly number[]): string {
  return [
    ...JSON.stringify(text)
      .slice(1, -1)
      .split(/(\\u....|\\.)/),
  ]
    .map((piece) => (piece.startsWith('\\') ? piece : escapePlain(piece, choices)))
    .join('');
}

function escapePlain(text: string, choices: readonly number[]): string {
  return text
    .split('')
    .map((unit, index) => {
      const choice = choices[index % Math.max(1, choices.length)] ?? 0;
      if (unit === '/' && choice % 2 === 1) return '\\/';
      if (choice % 11 !== 7) return unit;
      return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    })
    .join('');
}

const others = fc.dictionary(
  fc.string({ unit: 'grapheme' }).filter((key) => !['response', 'content', '__proto__'].includes(key)),
  fc.jsonValue({ maxDepth: 3 }),
  { maxKeys: 4 },
);
const shape = fc.record({
  csv: fc.uint8Array({ maxLength: 300 }),
  outer: others,
  inner: others,
  outerFirst: fc.boolean(),
  innerFirst: fc.boolean(),
  choices: fc.array(fc.nat(100), { maxLength: 40 }),
  indent: fc.constantFrom('', ' ', '\n', '\r\n\t'),
  cuts: fc.array(fc.nat(100_000), { maxLength: 30 }),
});

test('any well-formed reply gives its content', async () => {
  await fc.assert(
    fc.asyncProperty(shape, async ({ csv, outer, inner, outerFirst, innerFirst, choices, indent, cuts }) => {
      const content = escapeText(Buffer.from(csv).toString('base64'), choices);
      const write = (members: Record<string, unknown>, key: string, value: string, isFirst: boolean) => {
        const written = Object.entries(members).map(
          ([name, member]) => `"${escapeText(name, choices)}"${indent}:${indent}${JSON.stringify(member)}`,
        );
        const mine = `"${escapeText(key, choices)}"${indent}:${indent}${value}`;
        return `{${indent}${(isFirst ? [mine, ...written] : [...written, mine]).join(`${indent},`)}${indent}}`;
      };
      const response = write(inner, 'content', `"${content}"`, innerFirst);
      const json = `${indent}${write(outer, 'response', response, outerFirst)}${indent}`;
      expect((await decode(Buffer.from(json), cuts)).equals(Buffer.from(csv))).toBe(true);
    }),
    BUDGET,
  );
});

/** What JSON allows servers to write in different ways. */
const spellings: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.replaceAll('/', '\\/'),
  (text) => text.replaceAll('+', '\\u002B').replaceAll('/', '\\u002f'),
];

test('content of any size comes whole, also of two replies at once', async () => {
  const part = fc.record({
    size: fc.oneof(fc.nat(70_000), fc.nat(2_500_000)),
    seed: fc.uint8Array({ minLength: 1, maxLength: 50 }),
    spell: fc.constantFrom(...spellings),
    cuts: fc.array(fc.nat(5_000_000), { maxLength: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(part, part, async (...parts) => {
      const contents = parts.map(({ size, seed }) => Buffer.alloc(size, seed));
      const got = await Promise.all(
        parts.map(({ spell, cuts }, index) => {
          const text = spell(contents[index]!.toString('base64'));
          return decode(Buffer.from(`{"response":{"content":"${text}"}}`), cuts);
        }),
      );
      expect(got.map((bytes, index) => bytes.equals(contents[index]!))).toEqual([true, true]);
    }),
    BUDGET,
  );
});

test('a damaged reply gives what JSON.parse and a strict decoder give, or is malformed', async () => {
  const damage = fc.record({
    offset: fc.nat(1000),
    remove: fc.nat(3),
    insert: fc.string({ unit: fc.constantFrom(...'"\\{}[],:=QAu0/-_ \n\u0000eé'.split('')), maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 30 }),
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(1000), { maxLength: 6 }),
      async (csv, damages, cuts) => {
        let json = JSON.stringify({
          m: ['x'],
          response: { content: Buffer.from(csv).toString('base64'), n: {} },
        });
        for (const { offset, remove, insert } of damages) {
          const at = offset % (json.length + 1);
          json = json.slice(0, at) + insert + json.slice(at + remove);
        }
        const bytes = Buffer.from(json);
        const expected = strictly(bytes);
        const got = await decode(bytes, cuts).catch((error: unknown) => {
          expect(error).toBeInstanceOf(MalformedReplyError);
          return undefined;
        });
        expect(got?.toString('hex')).toBe(expected?.toString('hex'));
      },
    ),
    BUDGET,
  );
});

/** The simple, slow way to decode; undefined where the reply is malformed. */
function strictly(bytes: Buffer): Buffer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const content = (value as { response?: { content?: unknown } } | null)?.response?.content;
  if (typeof content !== 'string' || !CANONICAL.test(content)) return undefined;
  const decoded = Buffer.from(content, 'base64');
  return decoded.toString('base64') === content ? decoded : undefined;
}
