/**
 * Writes a CSV of 8 columns for the reuse of answers: record i is the same in every file, but for those that are changed.
 * node bench/reuse-source.js --records N --out FILE [--order source|shuffled] [--changed PERCENT] [--doubles PERCENT]
 * Doubles have the sent columns of one of the other records, and take the place of the last ones.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { cities, families, places, streets, trades } from './words.js';

const COLUMNS = ['Account', 'Name', 'Address', 'City', 'State', 'Zip', 'Phone', 'Note'];
const SLAB_CHARACTERS = 64 * 1024;
/** Larger than any number of records and coprime to it, so that its multiples visit each record once. */
const STEP = 2_147_483_647;

const { values } = parseArgs({
  options: {
    records: { type: 'string' },
    out: { type: 'string' },
    order: { type: 'string', default: 'source' },
    changed: { type: 'string', default: '0' },
    doubles: { type: 'string', default: '0' },
  },
});
const records = Number(values.records);
const distinct = records - Math.floor((records * Number(values.doubles)) / 100);
const changed = Number(values.changed);

function* slabs() {
  let slab = `${COLUMNS.join(',')}\n`;
  for (let at = 0; at < records; at += 1) {
    const place = values.order === 'source' ? at : (at * (STEP % records)) % records;
    slab += recordOf(place, mixed(place % distinct));
    if (slab.length >= SLAB_CHARACTERS) {
      yield slab;
      slab = '';
    }
  }
  if (slab.length > 0) yield slab;
}

function recordOf(place, key) {
  const pick = (list, shift) => list[(key >>> shift) % list.length];
  const [city, state, zip] = pick(cities, 3);
  const other = key % 10_000 < changed * 100 ? ' Annex' : '';
  const name = `${pick(places, 5)} ${pick(families, 11)} ${pick(trades, 17)}${other}`;
  const address = `${1 + (place % distinct)} ${pick(streets, 7)}`;
  return `A${10_000_000 + place},${name},${address},${city},${state},${zip}${10 + (key % 90)},406-${key % 1000}-${place % 10_000},${key % 4 === 0 ? 'seen' : ''}\n`;
}

/** A number whose bits look random. */
function mixed(number) {
  let bits = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  return (bits ^ (bits >>> 16)) >>> 0;
}

await pipeline(slabs, createWriteStream(values.out));
