/**
 * Writes a CSV of 8 columns for the reuse of answers: record i is the same in every file, unless it is changed.
 * node bench/reuse-source.js --records N --out FILE [--order source|shuffled] [--changed PERCENT] [--doubles PERCENT]
 * Doubles have the sent columns of one of the other records, and take the place of the last ones. Prints as JSON how many
 * records are changed. Memory is flat, whatever the order.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { readOptions } from './read-options.js';
import { cities, families, places, streets, trades } from './words.js';

const COLUMNS = ['Account', 'Name', 'Address', 'City', 'State', 'Zip', 'Phone', 'Note'];
const SLAB_CHARACTERS = 64 * 1024;
/** Keys of the rounds that shuffle. */
const ROUND_KEYS = [0x1b873593, 0x2c1b3c6d, 0x297a2d39, 0x4cf5ad43];

const { values, refuse } = readOptions(
  'node bench/reuse-source.js --records N --out FILE [--order source|shuffled] [--changed PERCENT] [--doubles PERCENT]',
  {
    records: { type: 'count' },
    out: { type: 'string' },
    order: { type: 'string', default: 'source' },
    changed: { type: 'number', least: 0, default: '0' },
    doubles: { type: 'number', least: 0, default: '0' },
  },
);
const { records, changed } = values;
if (records === undefined || !values.out) refuse('--records or --out is missing');
if (!['source', 'shuffled'].includes(values.order)) refuse(`there is no order ${values.order}`);
const distinct = records - Math.floor((records * values.doubles) / 100);
/** Half of the bits of a place, rounded up. */
const halfBits = Math.ceil(Math.log2(Math.max(4, records)) / 2);
let changedRecords = 0;

function* slabs() {
  let slab = `${COLUMNS.join(',')}\n`;
  for (let at = 0; at < records; at += 1) {
    const place = values.order === 'source' ? at : shuffled(at);
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
  const isChanged = key % 10_000 < changed * 100;
  if (isChanged) changedRecords += 1;
  const other = isChanged ? ' Annex' : '';
  const name = `${pick(places, 5)} ${pick(families, 11)} ${pick(trades, 17)}${other}`;
  const address = `${1 + (place % distinct)} ${pick(streets, 7)}`;
  return `A${10_000_000 + place},${name},${address},${city},${state},${zip}${10 + (key % 90)},406-${key % 1000}-${place % 10_000},${key % 4 === 0 ? 'seen' : ''}\n`;
}

/**
 * Another place for each place, in an order that looks random: a Feistel network over a power of 4, repeated until the
 * place is one of a record.
 */
function shuffled(place) {
  let found = place;
  do {
    let left = found >>> halfBits;
    let right = found & (2 ** halfBits - 1);
    for (const key of ROUND_KEYS) {
      [left, right] = [right, left ^ (mixed(right ^ key) & (2 ** halfBits - 1))];
    }
    found = left * 2 ** halfBits + right;
  } while (found >= records);
  return found;
}

/** A number whose bits look random. */
function mixed(number) {
  let bits = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  return (bits ^ (bits >>> 16)) >>> 0;
}

await pipeline(slabs, createWriteStream(values.out));
console.log(JSON.stringify({ changed: changedRecords }));
