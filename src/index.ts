/** The public names of the library, for the pipelines and for programs that embed it. */
export type {
  DownloadRequest,
  FolioReport,
  PaidWaits,
  PartReply,
  PredictionApi,
  SearchRecord,
  SearchReply,
  UploadFile,
  UploadReceipt,
  UploadRequest,
} from './api/prediction-api.js';
export type { RequestLimiter, Written } from './api/rate-limiter.js';
export { type Operation, searchAddressMissing } from './api/requests.js';
export { createServiceText } from './api/service-text.js';
export { checkCall } from './check-call.js';
export type { AccountState } from './checkpoint/account-state.js';
export type {
  AcceptedReply,
  AdoptedReply,
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
  Withheld,
} from './checkpoint/checkpoint.js';
export { CheckpointStateError } from './checkpoint/checkpoint-errors.js';
export { withCutOffUploads } from './checkpoint/cut-off-uploads.js';
export type { HeldLock, LockHolder, PipelineLock, WorkingProcess } from './checkpoint/pipeline-lock.js';
export { openCheckpointReader, openSqliteCheckpoint } from './checkpoint/sqlite/open-sqlite-checkpoint.js';
export { createFileLock, findHolder } from './checkpoint/sqlite/pipeline-lock.js';
export { isCompleted, isUnfinished } from './checkpoint/walk-run.js';
export { rescueProblems } from './config/cross-checks.js';
export { type ExplainedKey, explainConfig } from './config/explain-config.js';
export { loadConfig, parseConfig } from './config/load-config.js';
export type { Config, ConfigInput } from './config/schema.js';
export { budgetAt } from './config/sections/calendar.js';
export { isS3 } from './config/sections/output-names.js';
export { withOutputPath } from './config/sections/output-path.js';
export { embeddedServiceFolder, Secret } from './config/sections/service-section.js';
export type { ServiceNeeds } from './config/service-needs.js';
export { type PlaceOptions, readStatePlace } from './config/state-place.js';
export type { DeltaStore, LastPublication, StoredDigests } from './delta/delta-store.js';
export { createLocalDeltaStore } from './delta/local-delta-store.js';
export * from './errors.js';
export { type AtFailpoint, type Failpoint, failpoints } from './failpoints.js';
export { withoutReasonText } from './failure-reasons.js';
export { createOutputStore } from './files/create-output-store.js';
export { createLocalOutputStore } from './files/local-output-store.js';
export { createLocalFiles } from './files/local-run-files.js';
export type { CutOptions, OutputIdentity, OutputStore } from './files/output-store.js';
export {
  type ByteStream,
  DamagedPartError,
  type FileStore,
  type RunFiles,
  type StoredRun,
  type WrittenPart,
} from './files/run-files.js';
export { hintOf } from './hints.js';
export type {
  LoadColumn,
  LoadDelta,
  Loaded,
  LoadFile,
  LoadOptions,
  LoadReport,
  LoadRequest,
  LoadTable,
  LoadTarget,
} from './load/load-target.js';
export { type PrintDialect, printDialects } from './load/print/print-load.js';
export type { Logger } from './logger.js';
export { type NotifyOptions, notifyEnd, receiversOf } from './notify/notify-end.js';
export {
  describeEnd,
  type EndError,
  type EndFacts,
  isEnd,
  type Outcome,
  outcomes,
  type RunEnd,
} from './notify/run-end.js';
export type {
  CopyEvent,
  FoundEvent,
  JobEvent,
  LoadEvent,
  OnProgress,
  OpenFolio,
  ProgressEvent,
  ProgressSnapshot,
  PublishedEvent,
  ScanEvent,
  Wait,
  WaitingEvent,
} from './progress/events.js';
export { guardListeners } from './progress/guard-listeners.js';
export { type Job, type JobOptions, startJob } from './progress/start-job.js';
export { formatDuration } from './quantities.js';
export { accountText, leftFoliosHint } from './report/account-text.js';
export {
  type Adoptable,
  abandonCommand,
  adoptCommand,
  type FolioGivenUp,
  helpTexts,
  outcomeText,
} from './report/adoptable.js';
export { paidRecords } from './report/cost-figures.js';
export {
  exceededReasons,
  judgedCounts,
  releaseReason,
  withheldExitCode,
} from './report/exit-code.js';
export {
  type LedgerEntry,
  type LedgerOptions,
  type LedgerSum,
  readLedger,
  readLedgerPages,
  readLedgerSums,
} from './report/ledger.js';
export {
  addEntries,
  emptyTotals,
  type LedgerReuse,
  type LedgerTotals,
  ledgerReuse,
} from './report/ledger-totals.js';
export { createRunMeasure, type ProcessFigures, phases, type RunMeasure } from './report/measure-run.js';
export { priceOf, recordsToSend } from './report/origins.js';
export { type PartialFacts, type PartialOutput, partialFacts, partialText } from './report/output-there.js';
export type { RunReport } from './report/run-report.js';
export { type RunSummary, type SummaryNotes, summarizeRun } from './report/run-summary.js';
export type { Unusual } from './report/unusual.js';
export {
  missingOutputText,
  type NextTerms,
  type NextWay,
  nextTerms,
  retryWay,
  termsOfRun,
  type WhatNext,
  whatNext,
} from './report/what-next.js';
export { createOutputLayout, outputColumns, outputHeader } from './results/output-layout.js';
export { createRowReader, type RowObject } from './results/read-rows.js';
export { checkRow, checkSchema, type RowSchema } from './results/standard-schema.js';
export type { AnswerStore } from './reuse/answer-store.js';
export { type ForgetWhat, type Forgotten, forgetAnswers } from './run/answers/forget-answers.js';
export { type ImportedAnswers, type ImportOptions, importAnswers } from './run/answers/import-answers.js';
export { pruneAnswers } from './run/answers/prune-answers.js';
export {
  type AnswerTotals,
  type ShownAnswers,
  type ShownSegment,
  showAnswers,
} from './run/answers/show-answers.js';
export { type BackedUp, type BackupOptions, backupState } from './run/backup/backup-state.js';
export {
  type Recovered,
  type RecoveredRun,
  type RecoverOptions,
  recover,
  type UploadSum,
} from './run/backup/recover.js';
export type { RecoveredAnswers } from './run/backup/recover-answers.js';
export {
  type NewerOutput,
  type Restored,
  type RestoreOptions,
  restoreState,
} from './run/backup/restore-state.js';
export { isRestored, refuseUnconfirmed, unconfirmedText } from './run/backup/restored-mark.js';
export { checkLearned } from './run/check/check-load.js';
export { publicationOf } from './run/check/check-load-file.js';
export { type CheckedItem, type CheckOptions, checkSetup } from './run/check/check-setup.js';
export { type LookOptions, lookAtSource, type SourceLook } from './run/check/look-at-source.js';
export { openApi, serviceIdentity } from './run/configured-service.js';
export type { CopiedState } from './run/copy/copied-state.js';
export { type CopyStateOptions, copyState } from './run/copy/copy-state.js';
export {
  checkLoadable,
  checkLoadOfRest,
  loadAfterPublishing,
  loadPublication,
  openLoadTarget,
} from './run/load/load-run.js';
export { loadStatus, type MissingLoad, missingLoad } from './run/load/load-status.js';
export { printRunLoad } from './run/load/print-run-load.js';
export { findNextStop } from './run/next-stop.js';
export { supersede } from './run/open/begin-run.js';
export { canReopen, checkDoneSource, prunedError } from './run/open/done-run.js';
export {
  type FrozenValues,
  frozenValues,
  settingsToGoOn,
  sourceToGoOn,
  unfinishedRun,
} from './run/open/frozen-values.js';
export { checkSuperseded, findGivenUp, type GivenUpRun, givenUpText } from './run/open/given-up-run.js';
export { checkKnown, namedRun, shownRun, withNamedRun } from './run/open/named-run.js';
export { openRequestLimit } from './run/open/open-limits.js';
export { type OpenRun, openRun, runError, withRun } from './run/open/open-run.js';
export {
  type StateContext,
  waitForLock,
  withAnswers,
  withCheckpoint,
  withState,
} from './run/open/open-state.js';
export { type Stores, withStores } from './run/open/open-stores.js';
export { closedError } from './run/open/stop-run.js';
export {
  checkRetryBudget,
  type RetryPlan,
  type RetryWay,
  retryPlanOf,
  retryPlanText,
} from './run/plan/plan-retry.js';
export { type Plan, type PlanOptions, planRun } from './run/plan/plan-run.js';
export { type PrunedRun, pruneRuns, unknownRunFolders } from './run/prune-runs.js';
export { createProgressReader, type ProgressSources } from './run/read-progress.js';
export { type ReportOptions, reportPage, reportRun, writeReport } from './run/report-run.js';
export {
  type RunOptions,
  type RunPorts,
  type ServiceEndpoint,
  withHandedRecords,
} from './run/run-options.js';
export {
  findAccount,
  findMove,
  openStateReader,
  refuseStateInFolder,
  type StateReader,
  stateMissing,
} from './run/state-reader.js';
export type { Refetch, RunContext } from './run-context.js';
export { limitText } from './source/reject-limit.js';
export { type ScanSourceOptions, scanSource } from './source/scan-source.js';
export { findRestamped } from './source/source-files.js';
export { cellLikeValue, looksLikeName, looksLikeState, looksLikeStreet } from './source/value-kinds.js';
export type { InputStream } from './spool/copy-stdin.js';
export { HandedRecords, isHandedIn, type SourceRecords } from './spool/handed-records.js';
export {
  canaryChunks,
  chunkRecords,
  isCanaryAnswered,
  isPastCanary,
  openChunks,
} from './stages/chunk/chunk-records.js';
export { downloadParts } from './stages/download/download-parts.js';
export { withoutGivingUp } from './stages/download/repair-parts.js';
export { mayRescue, rescueFailed, searchOnce } from './stages/failed/rescue-failed.js';
export { closeRound, isRoundCut, retryFailed } from './stages/failed/retry-failed.js';
export { isEchoChanged } from './stages/merge/join-chunk.js';
export { hasAnswers, mergePartly } from './stages/merge/merge-partly.js';
export { type MergeResultsOptions, mergeResults } from './stages/merge/merge-results.js';
export type { MergedStretch } from './stages/merge/merge-stretch.js';
export {
  checkAllCollected,
  checkAllDownloaded,
  checkAllMerged,
  checkAllSubmitted,
  isAllMerged,
  isSourceAnswered,
} from './stages/publish/check-complete.js';
export { checkPublished, holdsPublication } from './stages/publish/check-published.js';
export { checkAllGiven, confirmRows } from './stages/publish/confirm-rows.js';
export { appendMerged, hasWorkFile, publishOutput } from './stages/publish/publish-output.js';
export { publishPartly } from './stages/publish/publish-partly.js';
export { putInPlace, rewriteMarker } from './stages/publish/put-in-place.js';
export { removeRewritten, removeUnneeded, removeWaitingFiles } from './stages/publish/waiting-files.js';
export { withholdOutput } from './stages/publish/withhold-output.js';
export { checkCanary } from './stages/submit/check-canary.js';
export { submitChunks } from './stages/submit/submit-chunks.js';
export { unrecordedError } from './stages/submit/unrecorded-folios.js';
export { attemptIn, type ParsedNames, recogniseUpload, uploadNames } from './stages/submit/upload-names.js';
export { hasLostFolios, recheckLostFolios } from './stages/track/lost-folios.js';
export { trackFolios } from './stages/track/track-folios.js';
export { abortOnEarlyReturn } from './streams/abortable.js';
export { type Clock, systemClock } from './streams/clock.js';
export { iterateChain } from './streams/iterate-chain.js';
export { giveBack } from './streams/large-buffers.js';
export { mapConcurrent } from './streams/map-concurrent.js';
export { oneByOne } from './streams/one-by-one.js';
export type { Acquired, Permits, SharedUse } from './streams/permits.js';
export { drain, runStages, type SinkStage, type SourceStage, type Stage } from './streams/run-stages.js';
export { presentTexts } from './text.js';
export type * from './types.js';
