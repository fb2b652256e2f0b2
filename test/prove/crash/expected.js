/**
 * The expected outcome of a stop at each failpoint. Written by hand from the rules in docs/architecture.md and the exit
 * codes in docs/failures.md, never copied from a run. A failpoint that is missing here is an error.
 */

export const chunks = 6;
/** The service refuses files as large as a chunk, so each is sent in two halves. */
const halves = 2 * chunks;
/** With a round of failed records: those of all chunks fit into one more chunk. */
const withRound = chunks + 1;

/** How the first command ends, how the next one, and what was uploaded in both: accepted, ambiguous, at the service. */
const outcome = (first, error, [accepted, ambiguous, served] = [chunks, 0, chunks]) => ({
  first,
  error,
  second: 0,
  accepted,
  ambiguous,
  served,
});

const killed = outcome('SIGKILL', null);
/** The upload is ambiguous and is sent again; it never reached the service. */
const killedBeforePost = outcome('SIGKILL', null, [chunks, 1, chunks]);
/** The same, but the service had accepted it. */
const killedAfterPost = outcome('SIGKILL', null, [chunks, 1, chunks + 1]);
const stopped = outcome(143, 'INTERRUPTED');
/** Everything is bought and merged: the publication is finished before the process ends. */
const published = outcome(0, null);
const full = outcome(5, 'DISK_FULL');
const halved = ({ first, error }) => outcome(first, error, [halves, 0, halves]);
const inRound = ({ first, error }) => outcome(first, error, [withRound, 0, withRound]);

const usual = { kill: killed, term: stopped, full };
const publishing = { ...usual, term: published };
/** SIGHUP of a closed terminal does the same as SIGTERM; tried during a request, a file and a publication. */
const hungUp = { hup: stopped };
const round = { rounds: 1, kill: inRound(killed), term: inRound(stopped), full: inRound(full) };

/**
 * Failpoints that the job of the matrix never passes, and the tests that cover them. A search that may have been
 * accepted is not repeated, so the output differs from that of an uninterrupted run. A retry is another command. Parts
 * are fetched again, and columns added, only if the service answers differently than before. A job without reuse chooses
 * nothing. A delta needs an earlier publication, a load a database, and only some formats are made from the CSV. No
 * output is withheld unless `failures.onExceeded` says so.
 */
export const elsewhere = {
  'after-columns-added-before-merge': 'test/integration/answers/added-columns.test.ts',
  'after-spool-piece-before-next': 'test/integration/sources/stdin.test.ts',
  'after-spool-fill-before-name': 'test/integration/sources/parquet.test.ts',
  'after-spool-before-check': 'test/integration/sources/stdin.test.ts',
  'after-choice-before-run': 'test/integration/reuse/killed-night.test.ts',
  'after-refetch-before-swap': 'test/integration/resume/refetch-crash.test.ts',
  'after-swap-before-removal': 'test/integration/resume/refetch-crash.test.ts',
  'after-search-intent-before-post': 'test/integration/failed-records/search.test.ts',
  'after-search-post-before-commit': 'test/integration/failed-records/search.test.ts',
  'after-search-before-next': 'test/integration/failed-records/search.test.ts',
  'after-reopened-before-retry': 'test/integration/failed-records/retry.test.ts',
  'after-digests-before-delta': 'test/integration/publish/delta.test.ts',
  'after-delta-before-publishing': 'test/integration/publish/delta.test.ts',
  'after-base-before-done': 'test/integration/publish/delta.test.ts',
  'after-encoded-before-publishing': 'test/integration/publish/formats.test.ts',
  'after-part-of-folder-before-next': 'test/integration/publish/folder.test.ts',
  'after-parts-before-removal': 'test/integration/publish/folder.test.ts',
  'after-marker-before-latest': 'test/integration/publish/folder.test.ts',
  'after-latest-before-sweep': 'test/integration/publish/folder.test.ts',
  'after-segment-before-withheld': 'test/integration/publish/withheld-killed.test.ts',
  'after-withheld-before-removal': 'test/integration/publish/withheld-killed.test.ts',
  'after-load-piece-before-next': 'test/integration/load/trouble.test.ts',
  'after-load-copy-before-rows': 'test/integration/load/trouble.test.ts',
  'after-load-rows-before-commit': 'test/integration/load/trouble.test.ts',
  'after-load-commit-before-end': 'test/integration/load/trouble.test.ts',
};

/**
 * By failpoint: at which passing the job is stopped; whether another command submits all chunks before, so that no
 * upload is in flight at a failpoint after the uploads; whether the service refuses files as large as a chunk; how many
 * rounds of failed records there are; and the outcome of each way to stop.
 */
export const outcomesAt = {
  'after-run-before-chunk': { nth: 1, ...usual },
  'after-cut-before-chunk-file': { nth: 3, ...usual },
  'after-cut-before-intent': { nth: 3, ...usual },
  'after-split-before-upload': {
    nth: 2,
    refusing: true,
    kill: halved(killed),
    term: halved(stopped),
    full: halved(full),
  },
  'after-intent-before-post': {
    nth: 3,
    ...usual,
    ...hungUp,
    kill: killedBeforePost,
  },
  'after-slot-before-post': { nth: 3, ...usual, kill: killedBeforePost },
  'after-post-before-commit': {
    nth: 3,
    ...usual,
    ...hungUp,
    kill: killedAfterPost,
  },
  'after-accepted-before-poll': { nth: 3, ...usual },
  'after-finished-reply-before-commit': { nth: 2, submitted: true, ...usual },
  'after-finished-before-download': { nth: 3, submitted: true, ...usual },
  'after-part-file-before-commit': { nth: 4, submitted: true, ...usual, ...hungUp },
  'after-part-before-downloaded': { nth: 3, submitted: true, ...usual },
  'after-downloaded-before-merge': { nth: 3, submitted: true, ...usual },
  'after-columns-before-merge': { nth: 1, submitted: true, ...usual },
  'after-work-write-before-commit': { nth: 3, submitted: true, ...usual, ...hungUp },
  'after-merged-before-next': { nth: 3, submitted: true, ...usual },
  'after-round-answered-before-settled': { nth: 1, ...round },
  'after-settled-before-merge': { nth: 1, ...round },
  'after-last-merge-before-publishing': { nth: 1, submitted: true, ...publishing },
  'after-publishing-before-rename': { nth: 1, submitted: true, ...publishing, hup: published },
  'after-rename-before-manifest': { nth: 1, submitted: true, ...publishing },
  'after-manifest-before-marker': { nth: 1, submitted: true, ...publishing },
  'after-marker-before-done': { nth: 1, submitted: true, ...publishing },
};
