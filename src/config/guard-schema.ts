/** What guards the money: `ambiguous`, `failures` and `budget`. */
import { z } from 'zod';
import { choice, wholeNumber } from './leaves.js';
import { share } from './quantities.js';

const RESUBMITTED_AT_MOST = 100_000;
const SPLITS_AT_MOST = 64;

/** Result column to the place of its value in the reply of the single-record search. */
const rescueColumns = z
  .record(
    z.string().min(1),
    z
      .string()
      .regex(/^[^\s.]+(\.[^\s.]+)*$/)
      .describe('a field of the search reply, or a path to one such as response.naics_code'),
  )
  .describe('a map of result columns to fields of the search reply')
  .default({});

export const ambiguousSchema = z.strictObject({
  policy: choice(['resubmit', 'hold']).default('resubmit'),
  maxRecords: wholeNumber(0).default(RESUBMITTED_AT_MOST),
});

export const failuresSchema = z.strictObject({
  tolerate: share.default(0.05),
  rounds: wholeNumber(0).default(0),
  rescue: choice(['none', 'search']).default('none'),
  rescueColumns,
  maxSplits: wholeNumber(0).default(SPLITS_AT_MOST),
});

const cap = z.int().min(0).nullable().describe('a whole number of records, or null').default(null);

export const budgetSchema = z.strictObject({
  perRun: cap,
  perDay: cap,
  perMonth: cap,
  pricePerRecord: z.number().min(0).nullable().describe('a price, 0 or more, or null').default(null),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .describe('a currency of three capital letters, such as USD')
    .default('USD'),
  timeZone: z
    .string()
    .refine(isTimeZone)
    .describe('a time zone such as UTC or America/Denver')
    .default('UTC'),
});

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
