/**
 * The expected outcome of a stop in each window. Written by hand from the rules in docs/architecture.md and the exit
 * codes in docs/failures.md, never copied from a run. A window that is missing here is an error.
 */

export const chunks = 6;
/** Of a service that takes no file as large as a chunk, so that each is sent in two halves. */
const halves = 2 * chunks;
/** With a round of failed records: those of all chunks are few enough for one more. */
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
/** The POST is not known to have come through: sent again, shown as ambiguous; it never reached the service. */
const killedBeforePost = outcome('SIGKILL', null, [chunks, 1, chunks]);
/** The same for us, but the service has it. */
const killedAfterPost = outcome('SIGKILL', null, [chunks, 1, chunks + 1]);
const stopped = outcome(143, 'INTERRUPTED');
/** All is bought and merged: the publishing comes to its end, there is nothing left to go on with. */
const published = outcome(0, null);
const full = outcome(5, 'DISK_FULL');
/** The reply is read and cannot be written down. The same command sends the chunk again... */
const unrecorded = outcome(5, 'FOLIO_NOT_RECORDED', [chunks, 1, chunks + 1]);
/** ... and the command that the error names binds the folio first, so that it is not. */
const adopted = outcome(5, 'FOLIO_NOT_RECORDED');

const halved = ({ first, error }) => outcome(first, error, [halves, 0, halves]);
const inRound = ({ first, error }) => outcome(first, error, [withRound, 0, withRound]);

const usual = { kill: killed, term: stopped, full };
const publishing = { ...usual, term: published };
/** A closed terminal does what SIGTERM does; struck where a request, a file or a publishing is under way. */
const hungUp = { hup: stopped };
const round = { rounds: 1, kill: inRound(killed), term: inRound(stopped), full: inRound(full) };

/**
 * Windows that the job of the matrix never passes, and the tests that strike there: a search that may have counted is
 * not made again, so that the output is not that of an unbroken run; a retry is another command; only of a service
 * that answers wrongly are parts fetched again.
 */
export const elsewhere = {
  'after-refetch-before-swap': 'test/integration/resume/refetch-crash.test.ts',
  'after-swap-before-removal': 'test/integration/resume/refetch-crash.test.ts',
  'after-search-intent-before-post': 'test/integration/failed-records/search.test.ts',
  'after-search-post-before-commit': 'test/integration/failed-records/search.test.ts',
  'after-search-before-next': 'test/integration/failed-records/search.test.ts',
  'after-reopened-before-retry': 'test/integration/failed-records/retry.test.ts',
};

/**
 * By window: which passing is struck, whether all chunks are submitted by a command before (so that no upload is
 * in flight in a window behind the uploads), whether the service refuses files as large as a chunk, how many rounds of
 * failed records there are, and the outcome by how.
 */
export const windows = {
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
    full: unrecorded,
    'full, adopted': adopted,
  },
  'after-post-before-commit': {
    nth: 3,
    ...usual,
    ...hungUp,
    kill: killedAfterPost,
    full: unrecorded,
    'full, adopted': adopted,
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
