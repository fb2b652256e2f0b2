/**
 * Writes a CSV of businesses with more columns, or with longer ones, than `generate.js` does; no field has quotes.
 * node bench/wide-source.js --records N --out FILE [--columns 7] [--text 0]
 * The first columns are Account, BusinessName, Address, State and Text, which has `--text` bytes.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createDice } from './dice.js';
import { readOptions } from './read-options.js';
import { cities, families, notes, places, streets, trades } from './words.js';

const NAMED = ['Account', 'BusinessName', 'Address', 'State', 'Text'];
const SLAB_CHARACTERS = 64 * 1024;

const { values, refuse } = readOptions(
  'node bench/wide-source.js --records N --out FILE [--columns N] [--text BYTES]',
  {
    records: { type: 'count' },
    out: { type: 'string' },
    columns: { type: 'count', least: NAMED.length, default: '7' },
    text: { type: 'count', least: 0, default: '0' },
  },
);
const { records, text: textBytes } = values;
if (records === undefined || !values.out) refuse('--records or --out is missing');
const more = values.columns - NAMED.length;
const roll = createDice(1);
const pick = (list) => list[roll(list.length)];
const ascii = (text) => text.replace(/[^ -~]|[",]/g, 'x');

/** Words of which any text is a slice. */
let words = '';
while (words.length < textBytes + 10_000) words += `${ascii(pick(notes))} ${ascii(pick(trades))} `;

function* slabs() {
  const columns = [...NAMED, ...Array.from({ length: more }, (_, column) => `column_${column + 1}`)];
  let slab = `${columns.join(',')}\n`;
  for (let record = 1; record <= records; record += 1) {
    const name = ascii(`${pick(places)} ${pick(families)} ${pick(trades)}`);
    const [, state] = pick(cities);
    const from = roll(10_000);
    const text = words.slice(from, from + textBytes);
    slab += `A${10_000_000 + record},${name},${1 + roll(9899)} ${ascii(pick(streets))},${state},${text}`;
    for (let column = 0; column < more; column += 1) slab += `,${(record * (column + 7919)) % 100_003}`;
    slab += '\n';
    if (slab.length < SLAB_CHARACTERS) continue;
    yield slab;
    slab = '';
  }
  if (slab.length > 0) yield slab;
}

await pipeline(slabs, createWriteStream(values.out));
