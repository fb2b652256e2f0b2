/** Random sources as files: records as values, bad records among them, and their bytes in any dialect. */
import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { renameColumns } from '../../../dist/src/source/read-columns.js';
import { randomText } from './csv-bytes.js';

const ASCII = ['a', 'B', '7', ' ', ',', ';', '|', '"', "'", '\n', '\r\n', '\r', '\t', '=', '#', '\\', '0'];
const LETTERS = {
  any: [...ASCII, 'é', 'ß', '漢', '😀', '\u{feff}', '\u{2028}', 'e\u{301}', '\u{7f}', '\u{1b}'],
  latin1: [...ASCII, 'é', 'ß', '\u{a0}', 'ÿ', '\u{85}'],
  'windows-1252': [...ASCII, 'é', 'ß', '€', '“'],
};
/** Names of columns; those with characters that have a meaning in CSV must be quoted in a header. */
const COLUMNS = [
  'Name',
  'Street',
  'City',
  'ZIP code',
  'name',
  'a,b',
  'x;y',
  'say "hi"',
  'two\nlines',
  'café',
  ' padded ',
  '1',
];

/**
 * A dialect for all files of a source: what the config says of it, and how each file may be written.
 * If the delimiter must be detected, it is the only candidate in the text.
 */
export function randomDialect(random) {
  const delimiter = random.pick([',', ',', ';', '\t', '|']);
  const encoding = random.pick([
    'auto',
    'auto',
    'auto',
    'utf8',
    'latin1',
    'windows-1252',
    'utf16le',
    'utf16be',
  ]);
  const isDetected = random.once(3);
  const quote = random.once(4) ? 'none' : 'auto';
  const header = random.pick(['first', 'first', 'rename', 'list']);
  // Without a header, the file may begin with a value, whose first letter must be no byte order mark.
  const isFit = (letter) =>
    (quote === 'auto' || (letter !== delimiter && !/[\r\n]/.test(letter))) &&
    (header !== 'list' || letter !== '\u{feff}');
  const letters = (LETTERS[encoding] ?? LETTERS.any).filter(
    (letter) => isFit(letter) && (!isDetected || letter === delimiter || !/^[,;\t|]$/.test(letter)),
  );
  return { delimiter, isDetected, encoding, letters, quote, header, skipLines: random.pick([0, 0, 1, 3]) };
}

export function randomColumns(random, { isDetected, letters, quote, delimiter }) {
  const isText = quote === 'none';
  const isFit = (name) =>
    !(isDetected && /[,;]/.test(name)) && !(isText && (name.includes('\n') || name.includes(delimiter)));
  const writable = (name) => letters.includes('é') || !name.includes('é');
  const names = random.shuffled(COLUMNS.filter((name) => isFit(name) && writable(name)));
  // Without quotes, an empty value alone would be an empty line.
  return names.slice(0, random.between(isDetected || isText ? 2 : 1, 6));
}

/**
 * The header of all files, null if they have none; the names of all columns as foliopipe knows them; and those that a
 * config may use, because no other column has the name.
 */
export function randomHeader(random, names, { header }) {
  if (header === 'list') return { written: null, columns: names, usable: names };
  if (header === 'rename') {
    const written = names.map((name, at) => (at > 0 && random.once(3) ? random.pick(['', names[0]]) : name));
    const columns = renameColumns(written);
    return { written, columns, usable: columns };
  }
  const columns = [...names, ...random.some(0, 2, () => random.pick(['', ' ', 'unused']))];
  return { written: columns, columns, usable: names };
}

/** @param names values of the column that is predicted, some of which are known to fail. */
export function randomRecords(random, { columns, letters, named, names }) {
  const pool = random.some(1, 6, () => random.pick([random.pick(names), randomText(random, letters)]));
  return random.some(1, random.once(12) ? 150 : 25, () =>
    columns.map((column) =>
      column === named || random.once(3) ? random.pick(pool) : randomText(random, letters),
    ),
  );
}

/** A good record as it is written: quoted where it must be, and now and then elsewhere. */
export function writeRecord(random, values, { delimiter, quote }) {
  if (quote === 'none') return values.join(delimiter);
  const fields = values.map((value, at) => {
    // A CR is data where it cannot be taken for the beginning of a line end.
    const isLast = at === values.length - 1;
    const mustQuote = /["\n]/.test(value) || value.includes(delimiter) || (isLast && value.includes('\r'));
    return mustQuote || random.once(4) ? `"${value.replaceAll('"', '""')}"` : value;
  });
  const line = fields.join(delimiter);
  return line === '' ? '""' : line;
}

/**
 * A record that cannot be used, on a line of its own: its code, and its text or (of a byte that is no letter)
 * its bytes on the disk and decoded.
 */
export function randomBadRecord(random, { columns, delimiter, quote, encoding, maxRecordBytes }) {
  const rest = (count) => `${delimiter}x`.repeat(count);
  const more = columns.length - 1;
  const kinds = [
    () => ({ code: 'SOURCE_FIELD_COUNT', text: `x${rest(more + random.between(1, 3))}` }),
    ...(quote === 'none'
      ? [() => ({ code: 'SOURCE_FIELD_COUNT', text: `"x${rest(more + 1)}"` })]
      : [
          () => ({ code: 'SOURCE_QUOTE_MISPLACED', text: `x"y${rest(more)}` }),
          () => ({ code: 'SOURCE_QUOTE_MISPLACED', text: `"x"y${rest(more)}` }),
        ]),
    () => ({ code: 'SOURCE_NUL', text: `x\0${rest(more)}` }),
  ];
  if (more > 0) kinds.push(() => ({ code: 'SOURCE_FIELD_COUNT', text: `x${rest(more - 1)}` }));
  if (maxRecordBytes < 100_000) {
    const text = `${'x'.repeat(maxRecordBytes + 1 - 2 * more)}${rest(more)}`;
    kinds.push(() => ({ code: 'SOURCE_RECORD_TOO_LARGE', text }));
  }
  const meaningless = { utf8: [0xff], 'windows-1252': [0x81] }[encoding];
  const lost = encoding === 'utf8' ? Buffer.from(meaningless) : Buffer.from('\u{fffd}');
  if (meaningless !== undefined) {
    const raw = Buffer.concat([lost, Buffer.from(rest(more))]);
    const bytes = Buffer.concat([Buffer.from(meaningless), Buffer.from(rest(more))]);
    kinds.push(() => ({ code: 'SOURCE_ENCODING', raw, bytes }));
  } else if (encoding !== 'latin1') {
    kinds.push(() => ({ code: 'SOURCE_ENCODING', text: `\u{fffd}${rest(more)}` }));
  }
  const bad = random.pick(kinds)();
  // Of a record that is too large only the first bytes are kept.
  return { raw: Buffer.from(bad.text ?? '').subarray(0, maxRecordBytes), ...bad };
}

/** The bytes of a file that holds some lines, the header and these records, good ones as `text` and bad ones. */
export function encodeFile(random, { header, delimiter, quote, skipLines, encoding, bom, records }) {
  const newline = random.pick(['\n', '\n', '\r\n', undefined]);
  const lineEnd = () => newline ?? random.pick(['\n', '\r\n']);
  const encode = (text) => iconv.encode(text, encoding, { addBOM: false });
  const title = Array.from({ length: skipLines }, () => `"a, b; c${random.pick(['\n', '\r', '\r\n'])}`).join(
    '',
  );
  const pieces = [encode((bom ? '\u{feff}' : '') + title)];
  // A CR at the end of the lines and a line feed after it would be one line end.
  if (header !== null) pieces.push(encode(writeRecord(random, header, { delimiter, quote })));
  for (const [at, { text, bytes }] of records.entries()) {
    if (at > 0 || header !== null) pieces.push(encode(lineEnd()));
    if (random.once(12)) pieces.push(encode(lineEnd()));
    pieces.push(bytes ?? encode(text));
  }
  if (!random.once(3)) pieces.push(encode(lineEnd()));
  return Buffer.concat(pieces);
}

/** The bytes as gzip of one member or of two, which gzip programs make by appending. */
export function zip(random, bytes) {
  const at = random.once(4) ? random.below(bytes.length) : 0;
  return at === 0
    ? gzipSync(bytes)
    : Buffer.concat([gzipSync(bytes.subarray(0, at)), gzipSync(bytes.subarray(at))]);
}
