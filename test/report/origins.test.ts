import { describe, expect, it } from 'vitest';
import { openOrigins, originsOf, publishedOrigins, savedBy } from '../../src/report/origins.js';
import { noRows } from '../../src/results/row-counts.js';
import type { Origins } from '../../src/types.js';
import { sampleChoice, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';

const none = { records: 0, successful: 0, failed: 0, unprocessed: 0 };
const rows = {
  ...noRows,
  ...{ successful: 100, failed: 25, unprocessed: 3, skipped: 5 },
  reused: { successful: 60, failed: 7 },
  duplicates: { successful: 10, failed: 3, unprocessed: 1 },
};

describe('originsOf', () => {
  it('gives each row one origin', () => {
    expect(originsOf(rows)).toEqual({
      sent: { records: 42, successful: 30, failed: 10, unprocessed: 2 },
      reused: { records: 67, successful: 60, failed: 7, unprocessed: 0 },
      duplicates: { records: 14, successful: 10, failed: 3, unprocessed: 1 },
      skipped: { records: 5, successful: 0, failed: 5, unprocessed: 0 },
    });
  });
});

describe('publishedOrigins', () => {
  it('are those that were published', () => {
    const origins = originsOf(rows);
    expect(publishedOrigins({ ...samplePublication, origins })).toEqual(origins);
  });

  it('of a version that sent blank records have none that are skipped', () => {
    const { skipped: _, ...origins } = originsOf({ ...rows, failed: 20, skipped: 0 });
    const published = { ...samplePublication, origins: origins as Origins };
    expect(publishedOrigins(published)).toEqual({ ...origins, skipped: none });
  });

  it('from before version 0.1.0 are all sent', () => {
    const sent = { records: 30, successful: 30, failed: 0, unprocessed: 0 };
    expect(publishedOrigins(samplePublication)).toEqual({
      sent,
      reused: none,
      duplicates: none,
      skipped: none,
    });
  });
});

describe('openOrigins', () => {
  const { source } = sampleRun('r1');

  it('say which records there are, and how those ended that are written', () => {
    const choice = { ...sampleChoice, sent: 50, reused: { successful: 70, failed: 9 }, duplicates: 20 };
    expect(openOrigins({ choice, source: { ...source, blank: 6 } }, rows)).toEqual({
      sent: { records: 50, successful: 30, failed: 10, unprocessed: 2 },
      reused: { records: 79, successful: 60, failed: 7, unprocessed: 0 },
      duplicates: { records: 20, successful: 10, failed: 3, unprocessed: 1 },
      skipped: { records: 6, successful: 0, failed: 5, unprocessed: 0 },
    });
  });

  it('of a run without a choice are all sent, but for blank ones', () => {
    const sent = { ...none, records: source.records - source.rejected - 2 };
    const skipped = { ...none, records: 2 };
    const run = { choice: null, source: { ...source, blank: 2 } };
    expect(openOrigins(run, noRows)).toEqual({ sent, reused: none, duplicates: none, skipped });
  });
});

describe('savedBy', () => {
  it('is the price of what was not sent, if there is one', () => {
    const origins = originsOf(rows);
    const price = { pricePerRecord: 0.004, currency: 'EUR' };
    expect(savedBy(origins, price)).toEqual({ records: 81, amount: 0.324, currency: 'EUR' });
    expect(savedBy(origins, { ...price, pricePerRecord: null }).amount).toBeNull();
  });
});
