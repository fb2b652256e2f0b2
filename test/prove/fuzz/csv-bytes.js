/** Random bytes that look like CSV: noise of the bytes that matter, and well-formed records with something broken. */

/** Pieces of which noise is made; `,` stands for the delimiter. */
const PIECES = [
  ...['a', 'bc', ' ', 'é', '漢', '📒', '\u{feff}', '\0', "'", '\\', '\t', '=1+1', '0'],
  ...[',', ',', ',', '"', '"', '""', '"",', ',"', '",', '"\n', '"\r\n', '"\r', '"x'],
  ...['\n', '\n', '\r\n', '\r', '\n\n', '\r\n\r\n', '\r\r\n', '\n\r'],
].map((text) => Buffer.from(text));

/** Bytes that are no UTF-8, or are only a part of a letter. */
const BROKEN = [
  [0xff],
  [0xc3],
  [0xe6, 0xbc],
  [0xf0, 0x9f, 0x93],
  [0x80],
  [0xed, 0xa0, 0x80],
  [0xc0, 0xaf],
].map((bytes) => Buffer.from(bytes));

const LETTERS = ['a', 'b', 'Z', '7', ' ', 'é', 'ß', '漢', '😀', ',', ';', '"', '\n', '\r', '\r\n', '\t'];

/** @returns noise, or records of `fields` fields that are mostly well-formed; now and then many of them. */
export function randomCsv(random, delimiter, fields) {
  const kind = random.below(10);
  if (kind < 4) return noise(random, delimiter, random.between(0, 40));
  const records = wellFormed(random, delimiter, fields, random.once(20) ? 200 : 8);
  return kind < 6 ? records : mutated(random, records, random.between(1, 4));
}

/** Well-formed records before noise, so that the noise lies across the byte at `place`. */
export function randomCsvAround(random, delimiter, fields, place) {
  const head = [];
  const target = place - random.below(60);
  for (let size = 0; size < target; ) {
    const line = paddedRecord(delimiter, fields, Math.min(target - size, random.once(4) ? 40_000 : 900));
    head.push(line);
    size += line.length;
  }
  return Buffer.concat([
    ...head,
    randomCsv(random, delimiter, fields),
    wellFormed(random, delimiter, fields, 4),
  ]);
}

/** A record of exactly `size` bytes with its line end, or the shortest possible one. */
function paddedRecord(delimiter, fields, size) {
  const end = `${delimiter.repeat(fields - 1)}\n`;
  return Buffer.from(`"${'x'.repeat(Math.max(0, size - end.length - 2))}"${end}`);
}

function noise(random, delimiter, pieces) {
  return Buffer.concat(
    Array.from({ length: pieces }, () => {
      if (random.once(25)) return random.pick(BROKEN);
      return Buffer.from(random.pick(PIECES).toString('latin1').replaceAll(',', delimiter), 'latin1');
    }),
  );
}

function wellFormed(random, delimiter, fields, most) {
  const records = random.some(0, most, () => {
    const values = Array.from({ length: fields }, () => writeCsvField(random, randomText(random), delimiter));
    const line = values.join(delimiter);
    return `${line === '' ? '""' : line}${random.pick(['\n', '\n', '\r\n', '\n\n', '\r\n\r\n'])}`;
  });
  const text = records.join('');
  return Buffer.from(random.once(3) ? text.trimEnd() : text);
}

/** A value with characters that have a meaning in CSV; now and then a long one. */
export function randomText(random, letters = LETTERS) {
  if (random.once(60)) return random.pick(letters).repeat(random.between(100, 700));
  return random.some(0, 5, () => random.pick(letters)).join('');
}

/** A field that is quoted where it must be, and otherwise at random. */
export function writeCsvField(random, value, delimiter) {
  const mustQuote = /["\r\n]/.test(value) || value.includes(delimiter);
  return mustQuote || random.once(4) ? `"${value.replaceAll('"', '""')}"` : value;
}

function mutated(random, bytes, times) {
  let changed = bytes;
  for (let time = 0; time < times; time++) {
    const at = random.below(changed.length + 1);
    const gone = random.pick([0, 0, 1, 1, 3]);
    const put = random.pick([Buffer.alloc(0), random.pick(PIECES), random.pick(PIECES), random.pick(BROKEN)]);
    changed = Buffer.concat([changed.subarray(0, at), put, changed.subarray(at + gone)]);
  }
  // A copy that was cut off, perhaps in the middle of a character.
  return random.once(4) ? changed.subarray(0, random.below(changed.length + 1)) : changed;
}
