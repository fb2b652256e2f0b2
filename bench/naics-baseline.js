/**
 * How often the naics predictor is right about real businesses.
 * Usage, after `npm run build`: node bench/naics-baseline.js FILE NAME_COLUMN CODE_COLUMN
 */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { createPredictor } from '../dist/src/service/open-service.js';
import { isPrediction } from '../dist/src/service/predictors/predictor.js';
import { readOptions } from './read-options.js';

const { words } = readOptions(
  'node bench/naics-baseline.js FILE NAME_COLUMN CODE_COLUMN',
  {},
  (count) => count === 3,
);
const [file, nameColumn, codeColumn] = words;

/** Sectors of NAICS that span several first digits count as one. */
const SPANNING = { 32: '31', 33: '31', 45: '44', 49: '48' };

function sectorOf(code) {
  const digits = code.slice(0, 2);
  return SPANNING[digits] ?? digits;
}

const predictor = await createPredictor('naics');
predictor.predict('warm up', '', '');
const counts = { records: 0, coded: 0, predicted: 0, sectorRight: 0, codeRight: 0 };
let predictingMs = 0;
for await (const record of createReadStream(file).pipe(parse({ columns: true, bom: true }))) {
  counts.records++;
  const code = record[codeColumn];
  if (!/^\d{6}$/.test(code)) continue;
  counts.coded++;
  const started = performance.now();
  const outcome = predictor.predict(record[nameColumn], '', '');
  predictingMs += performance.now() - started;
  if (!isPrediction(outcome)) continue;
  counts.predicted++;
  if (sectorOf(outcome.code) === sectorOf(code)) counts.sectorRight++;
  if (outcome.code === code) counts.codeRight++;
}

const share = (part, whole) => `${((100 * part) / whole).toFixed(1)}%`;
process.stdout.write(
  `${JSON.stringify({
    ...counts,
    predictedShare: share(counts.predicted, counts.coded),
    sectorRightShare: share(counts.sectorRight, counts.predicted),
    codeRightShare: share(counts.codeRight, counts.predicted),
    recordsPerSecond: Math.round((1000 * counts.coded) / predictingMs),
  })}\n`,
);
