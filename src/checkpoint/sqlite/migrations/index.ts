/** All migrations in order. One that was released is never changed: a new one is added. */
import { initialTables } from './0001-initial-tables.js';
import { splitsRoundsBudget } from './0002-splits-rounds-budget.js';
import { receiptsPublications } from './0003-receipts-publications.js';
import { stretchesReuse } from './0004-stretches-reuse.js';
import { singleSearches } from './0005-single-searches.js';
import { withheldRuns } from './0006-withheld-runs.js';
import { skippedRecords } from './0007-skipped-records.js';
import { loads } from './0008-loads.js';
import { outputUploads } from './0009-output-uploads.js';
import { confirmedRuns } from './0010-confirmed-runs.js';
import { samples } from './0011-samples.js';
import { history } from './0012-history.js';
import { partialPublications } from './0013-partial-publications.js';

export const migrations: readonly string[] = [
  initialTables,
  splitsRoundsBudget,
  receiptsPublications,
  stretchesReuse,
  singleSearches,
  withheldRuns,
  skippedRecords,
  loads,
  outputUploads,
  confirmedRuns,
  samples,
  history,
  partialPublications,
];
