/** How much at once, how long and how often: `chunks`, `concurrency`, `timeouts`, `poll`, `retry`. */
import { z } from 'zod';
import { wholeNumber } from './leaves.js';
import { duration, size, timerDuration } from './quantities.js';

const KB = 1024;
const MB = 1024 * KB;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * Of an uploaded file, and of what its records are in the source. Twice as much (a file and its next record), and a
 * batch that is as large as the largest record, must fit into the 2 GiB of the CSV kernel; an answer that gives all
 * back beside 1.25 GiB of its own must fit into places of 32 bits.
 */
export const CHUNK_BYTES_AT_MOST = 512 * MB;

export const chunksSchema = z.strictObject({
  maxRecords: wholeNumber(1).default(10_000),
  maxBytes: size(KB, CHUNK_BYTES_AT_MOST).default(8 * MB),
  canary: z
    .union([z.literal('auto'), wholeNumber(0)])
    .describe('a whole number, 0 or more, or auto')
    .default(0),
});

export const concurrencySchema = z.strictObject({
  uploads: wholeNumber(1).default(4),
  folios: wholeNumber(1).default(16),
  downloads: wholeNumber(1).default(4),
});

export const timeoutsSchema = z.strictObject({
  connect: timerDuration.default(10 * second),
  idle: timerDuration.default(minute),
  upload: timerDuration.default(15 * minute),
  shutdown: timerDuration.default(25 * second),
});

export const pollSchema = z.strictObject({
  first: timerDuration.default(second),
  max: timerDuration.default(5 * minute),
  timeout: duration.default(6 * hour),
  lostAfter: duration.default(30 * minute),
});

export const retrySchema = z.strictObject({
  first: timerDuration.default(second / 2),
  max: timerDuration.default(minute),
  giveUpAfter: duration.default(2 * hour),
});
