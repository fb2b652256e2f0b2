/** The package's entry: the library and the ready pipelines. */
export * from '../src/index.js';
export { type AbandonedChunk, type Abandonment, type AbandonOptions, abandon } from './abandon.js';
export { type AdoptedChunk, type Adoption, adopt } from './adopt.js';
export { answerFailed } from './answer-failed.js';
export { type CollectOptions, collect } from './collect.js';
export { enrich } from './enrich.js';
export {
  type EnrichedBytesOptions,
  type EnrichedRecordsOptions,
  enrichedBytes,
  enrichedRecords,
} from './enriched.js';
export { type LoadedRun, load } from './load.js';
export { mergeAndPublish } from './merge-and-publish.js';
export { type OpenRun, openRun, withRun } from './open-run.js';
export { type PlanJobOptions, plan } from './plan.js';
export { type Pruned, type PruneOptions, prune } from './prune.js';
export { publish } from './publish.js';
export { type PlanRetryOptions, planRetry, type RetryOptions, retry } from './retry.js';
export {
  type ForgetOptions,
  forgetReuse,
  importReuse,
  type PrunedAnswers,
  type PruneReuseOptions,
  pruneReuse,
  type ReuseOptions,
  showReuse,
} from './reuse.js';
export { type SearchedBusiness, type SearchOptions, search } from './search.js';
export { submit } from './submit.js';
export { type ReadyRun, withReadyRun } from './with-ready-run.js';
