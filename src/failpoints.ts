/** The failpoints: named points of a run where a kill does the most harm. Tests arm one to stop a process there. */

export const failpoints = [
  'after-choice-before-run',
  'after-run-before-chunk',
  'after-cut-before-chunk-file',
  'after-cut-before-intent',
  'after-split-before-upload',
  'after-intent-before-post',
  'after-post-before-commit',
  'after-accepted-before-poll',
  'after-finished-reply-before-commit',
  'after-finished-before-download',
  'after-part-file-before-commit',
  'after-part-before-downloaded',
  'after-refetch-before-swap',
  'after-swap-before-removal',
  'after-downloaded-before-merge',
  'after-columns-before-merge',
  'after-columns-added-before-merge',
  'after-work-write-before-commit',
  'after-merged-before-next',
  'after-round-answered-before-settled',
  'after-settled-before-merge',
  'after-search-intent-before-post',
  'after-search-post-before-commit',
  'after-search-before-next',
  'after-reopened-before-retry',
  'after-last-merge-before-publishing',
  'after-segment-before-withheld',
  'after-withheld-before-removal',
  'after-digests-before-delta',
  'after-delta-before-publishing',
  'after-encoded-before-publishing',
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
  'after-base-before-done',
  'after-load-piece-before-next',
  'after-load-copy-before-rows',
  'after-load-rows-before-commit',
  'after-load-commit-before-end',
] as const;

export type Failpoint = (typeof failpoints)[number];

/** Called when a run passes a failpoint. Does nothing unless one is armed. */
export type AtFailpoint = (point: Failpoint) => void;
