/**
 * Writes a large CSV of invented businesses: the same bytes for the same seed, whatever the machine.
 * node bench/generate.js --records 1000000 --seed 1 --out FILE [--dialect NAME] [--content NAME] [--gzip]
 * Dialects: comma, semicolon, crlf, latin1, semicolon-crlf-latin1.
 * Contents: plain, ascii, multi-byte, equal (in all fields but the first), third-bad (every third record has a field
 * too many).
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createDice } from './dice.js';
import { readOptions } from './read-options.js';
import { cities, families, notes, owners, places, streets, trades } from './words.js';

const DIALECTS = {
  comma: { delimiter: ',', newline: '\n', encoding: 'utf8' },
  semicolon: { delimiter: ';', newline: '\n', encoding: 'utf8' },
  crlf: { delimiter: ',', newline: '\r\n', encoding: 'utf8' },
  latin1: { delimiter: ',', newline: '\n', encoding: 'latin1' },
  'semicolon-crlf-latin1': { delimiter: ';', newline: '\r\n', encoding: 'latin1' },
};
/** How the content differs from the plain one. */
const CONTENTS = {
  plain: {},
  ascii: { change: (record) => record.replace(/[^\0-\x7f]/g, 'x') },
  'multi-byte': { change: (record) => record.replaceAll('e', 'é').replaceAll('a', '日') },
  equal: { distinct: 1 },
  'third-bad': { change: (record, number) => (number % 3 === 0 ? `surplus,${record}` : record) },
};
const COLUMNS = ['Account', 'BusinessName', 'Address', 'City', 'State', 'Zip', 'Note'];
const SLAB_CHARACTERS = 64 * 1024;

/** Writes records, each with its delimiters and line end, into texts of about `SLAB_CHARACTERS`. */
function* slabs(records, seed, { delimiter, newline }, { change = (record) => record, distinct = records }) {
  const roll = createDice(seed);
  const pick = (list) => list[roll(list.length)];
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const field = (text) => (text.includes(delimiter) ? quoted(text) : text);

  /** One name in eight does not show the trade, so that no code is found for it. */
  const businessName = () => {
    const kind = roll(64);
    if (kind < 8) return `${pick(families)} ${pick(owners)}`;
    if (kind < 10) return quoted(`${pick(places)} "${pick(families)}" ${pick(trades)}`);
    if (kind < 13) return field(`${pick(families)} ${pick(trades)}, Inc.`);
    if (kind < 20) return field(`${pick(families)} & Sons ${pick(trades)}`);
    if (kind < 28) return `${pick(places)} ${pick(trades)} LLC`;
    return `${pick(places)} ${pick(trades)}`;
  };
  const address = () => {
    const street = `${1 + roll(9899)} ${pick(streets)}`;
    return roll(24) === 0 ? field(`${street}, Suite ${1 + roll(40)}`) : street;
  };
  const note = () => {
    const kind = roll(64);
    if (kind === 0) return quoted(`${pick(notes)}${newline}${pick(notes)}`);
    if (kind === 1) return quoted(`${pick(notes)}${delimiter} said "${pick(notes)}"`);
    return kind < 48 ? pick(notes) : '';
  };

  const fields = () => {
    const [city, state, zip] = pick(cities);
    const start = `${delimiter}${businessName()}${delimiter}${address()}`;
    const end = `${delimiter}${zip}${10 + roll(90)}${delimiter}${note()}${newline}`;
    return `${start}${delimiter}${city}${delimiter}${state}${end}`;
  };

  let slab = COLUMNS.join(delimiter) + newline;
  let rest = '';
  for (let record = 1; record <= records; record += 1) {
    if (record <= distinct) rest = fields();
    slab += change(`A${10_000_000 + record}${rest}`, record);
    if (slab.length >= SLAB_CHARACTERS) {
      yield slab;
      slab = '';
    }
  }
  yield slab;
}

function* encoded(texts, encoding) {
  for (const text of texts) yield Buffer.from(text, encoding);
}

const { values, refuse } = readOptions(
  `node bench/generate.js --out FILE [--records N] [--seed N] [--dialect NAME] [--content NAME] [--gzip]
dialects: ${Object.keys(DIALECTS).join(', ')}
contents: ${Object.keys(CONTENTS).join(', ')}`,
  {
    records: { type: 'count', least: 0, default: '1000000' },
    seed: { type: 'count', least: 0, default: '1' },
    out: { type: 'string' },
    dialect: { type: 'string', default: 'comma' },
    content: { type: 'string', default: 'plain' },
    gzip: { type: 'boolean', default: false },
  },
);
const { records, seed } = values;
if (!values.out) refuse('--out is missing');
const namedIn = (table, name, what) =>
  Object.hasOwn(table, name) ? table[name] : refuse(`there is no ${what} ${name}`);
const dialect = namedIn(DIALECTS, values.dialect, 'dialect');
const content = namedIn(CONTENTS, values.content, 'content');
const steps = values.gzip ? [createGzip()] : [];
await pipeline(
  encoded(slabs(records, seed, dialect, content), dialect.encoding),
  ...steps,
  createWriteStream(values.out),
);
