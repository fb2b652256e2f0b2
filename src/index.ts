/** The library's face: what a pipeline, or a program that embeds one, is made of. */
export type {
  DownloadRequest,
  FolioReport,
  PredictionApi,
  SearchRecord,
  UploadReceipt,
  UploadRequest,
} from './api/prediction-api.js';
export { createServiceText } from './api/service-text.js';
export type {
  AcceptedReply,
  Checkpoint,
  CheckpointReader,
  ChunkRow,
  ChunkState,
  Publication,
  ReplyKinds,
  Run,
  RunState,
  Tally,
  Upload,
} from './checkpoint/checkpoint.js';
export { openCheckpointReader } from './checkpoint/open-checkpoint-reader.js';
export { loadConfig } from './config/load-config.js';
export { parseConfig } from './config/parse-config.js';
export { rescueProblems } from './config/rescue-problems.js';
export type { Config } from './config/schema.js';
export { Secret } from './config/secret.js';
export { type AtCrashPoint, type CrashPoint, crashPoints } from './crash-points.js';
export * from './errors/index.js';
export type { Logger } from './logger.js';
export { type Adoptable, adoptCommand, adoptHint } from './report/adoptable.js';
export { isTolerated } from './report/exit-code.js';
export { failureText } from './report/failure-text.js';
export {
  addEntry,
  emptyTotals,
  type LedgerEntry,
  type LedgerTerms,
  type LedgerTotals,
  readLedger,
} from './report/ledger.js';
export { type LostFolio, lostText } from './report/lost-folios.js';
export { type RunSummary, summarizeRun } from './report/run-summary.js';
export { type CheckedItem, checkSetup } from './run/check-setup.js';
export { checkDoneSource } from './run/done-run.js';
export { mayReopen } from './run/may-reopen.js';
export { type OpenRun, openRun } from './run/open-run.js';
export { embeddedServiceFolder, openApi, serviceIdentity } from './run/service.js';
export { type StateNeeds, withState } from './run/open-state.js';
export { type Plan, planRun } from './run/plan-run.js';
export { type PrunedRun, pruneRuns, unknownRunFolders } from './run/prune-runs.js';
export {
  type Recovered,
  type RecoveredRun,
  type RecoverOptions,
  recover,
  type UploadSum,
} from './run/recover.js';
export type { RunOptions, ServiceEndpoint } from './run/run-options.js';
export { supersede } from './run/supersede.js';
export { waitForLock } from './run/wait-for-lock.js';
export { withRun } from './run/with-run.js';
export type { RunContext } from './run-context.js';
export { checkCanary } from './stages/check-canary.js';
export { checkPublished } from './stages/check-published.js';
export { canaryChunks, chunkRecords, openChunks } from './stages/chunk-records.js';
export { downloadParts } from './stages/download-parts.js';
export { isCanaryAnswered, isPastCanary } from './stages/each-of-canary.js';
export { findLost, hasLost } from './stages/find-lost.js';
export { checkAllDownloaded, checkAllMerged, checkAllSubmitted } from './stages/incomplete-error.js';
export { isAllMerged } from './stages/is-all-merged.js';
export { isSourceAnswered } from './stages/is-source-answered.js';
export { isJoinedOtherwise } from './stages/joined-otherwise.js';
export { mergePartly } from './stages/merge-partly.js';
export { type MergedChunk, mergeResults } from './stages/merge-results.js';
export { appendMerged, publishOutput } from './stages/publish-output.js';
export { publishPartly } from './stages/publish-partly.js';
export { putInPlace, renewMarker } from './stages/put-in-place.js';
export { type ReadNames, recogniseUpload } from './stages/recognise-upload.js';
export { refetchParts } from './stages/refetch-parts.js';
export { mayRescue, rescueFailed } from './stages/rescue-failed.js';
export { isRoundCut, retryFailed } from './stages/retry-failed.js';
export { type ScanSourceOptions, scanSource } from './stages/scan-source.js';
export { settleRound } from './stages/settle-round.js';
export { submitChunks } from './stages/submit-chunks.js';
export { trackFolios } from './stages/track-folios.js';
export { uploadNames } from './stages/upload-names.js';
export { workPathOf } from './stages/work-file.js';
export { systemClock } from './streams/clock.js';
export { mapConcurrent } from './streams/map-concurrent.js';
export { drain, runStages, type SinkStage, type SourceStage, type Stage } from './streams/run-stages.js';
export type * from './types.js';
