/** The shapes of the service's replies (interface, section 2). Requires only the fields that are used. */
import { z } from 'zod';
import type { FolioReport, UploadReceipt } from './prediction-api.js';

/** A whole number, 0 or more, as a number or a text. */
const count = z
  .union([z.number(), z.string().regex(/^\d{1,15}$/)], { error: 'expected a whole number from 0 on' })
  .transform(Number)
  .pipe(z.int().min(0));

/** A value that is no count is treated as missing. */
const countOrNull = count.nullable().catch(null);

const percentOrNull = z
  .union([z.number(), z.string().regex(/^-?\d{1,9}(\.\d+)?$/)])
  .transform((value) => Math.min(100, Math.max(0, Number(value))))
  .nullable()
  .catch(null);

/** The limit is longer than any text that foliopipe sends. Blank text counts as missing. */
const textOrNull = z
  .string()
  .transform((text) => text.slice(0, 2_000).trim() || null)
  .nullable()
  .catch(null);

const upload = z.object({
  response: z.object({
    // Accepts any visible text: rejecting a folio for its form would lose a paid file.
    folio: z.union([z.string().regex(/^[\x21-\x7e]{1,200}$/), z.int().min(0).transform(String)], {
      error: 'expected a folio of 1 to 200 visible characters',
    }),
    totalRecords: countOrNull,
  }),
});

/** The reply of 4.1. */
export const uploadReply = upload.transform(
  ({ response }): Omit<UploadReceipt, 'rehearsal'> => ({
    folio: response.folio,
    totalRecords: response.totalRecords,
  }),
);

const segment = z.object({ part: count, range: z.unknown().optional() });

const track = z.object({
  response: z.object({
    filename: textOrNull,
    description: textOrNull,
    records: countOrNull,
    progressInfo: z.object({
      status: z.string(),
      processedPercentage: percentOrNull,
      processedRecords: countOrNull,
      successfulRecords: count.nullish(),
      failedRecords: count.nullish(),
    }),
    segmentation: z.array(segment).nullish(),
    failedInfo: z.object({ part: count.catch(0) }).catch({ part: 0 }),
  }),
});

/** The reply of 4.2. Its status is as the service wrote it, so it is not yet safe to show. */
export const trackReply = track.transform(({ response }): Omit<FolioReport, 'rehearsal'> => {
  const { progressInfo, failedInfo } = response;
  const { successfulRecords: successful, failedRecords: failed } = progressInfo;
  const segments = new Map((response.segmentation ?? []).map(({ part, range }) => [part, range]));
  return {
    status: progressInfo.status,
    fileName: response.filename,
    description: response.description,
    records: response.records,
    percentage: progressInfo.processedPercentage,
    processed: progressInfo.processedRecords,
    counts: successful == null || failed == null ? null : { successful, failed },
    successfulParts: [...segments.keys()].sort((a, b) => a - b),
    listedRecords: sumOfRanges([...segments.values()]),
    failedPart: failedInfo.part,
  };
});

/** The reply of 4.4 is any JSON. */
export const searchReply = z.unknown();

/** Ranges are `[<first>-<last>]`, 1-based; an empty range is `[0-0]`. */
function sumOfRanges(ranges: readonly unknown[]): number | null {
  let sum = 0;
  for (const range of ranges) {
    const [, first, last] = /^\s*\[\s*(\d{1,15})\s*-\s*(\d{1,15})\s*\]\s*$/.exec(String(range)) ?? [];
    if (first === undefined || last === undefined) return null;
    sum += first === '0' ? 0 : Math.max(0, Number(last) - Number(first) + 1);
  }
  return sum;
}
