/** The named windows in which a kill hurts most; tests arm them from outside to stop a process right there. */

export const crashPoints = [
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
  'after-work-write-before-commit',
  'after-merged-before-next',
  'after-round-answered-before-settled',
  'after-settled-before-merge',
  'after-search-intent-before-post',
  'after-search-post-before-commit',
  'after-search-before-next',
  'after-reopened-before-retry',
  'after-last-merge-before-publishing',
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
] as const;

export type CrashPoint = (typeof crashPoints)[number];

/** Called when a run passes a window; in production it does nothing. */
export type AtCrashPoint = (point: CrashPoint) => void;
