/**
 * The expected outcome of each fault, written by hand from the rules in docs/architecture.md and the exit codes in
 * docs/failures.md, never copied from a run.
 *
 * An outcome says of the first run: `code`, `told` (the error's code, or what a warning says; null: no warning),
 * `output`; of both runs: the `chunks` that must be accepted, `ambiguous` uploads, and `paidTwice`, the folios more
 * than chunks; and of the second run, on a service that behaves: `second`.
 */
import { CHUNKS } from './job.js';

/** What stands in the output's place; see check-output.js. */
export const complete = { is: 'complete', text: 'complete' };
export const nothing = { is: 'nothing', text: 'nothing published' };

/** The records of these chunks have no prediction, and the cause. */
export function without(chunks, cause) {
  const which = chunks.length === CHUNKS ? 'every chunk' : `chunk ${chunks.join(', ')}`;
  return { is: 'unprocessed', chunks, cause, text: `${which} UNPROCESSED (${cause})` };
}

/** As far as records failed by the fault, they are FAILED with its reason. */
export function madeToFail(share) {
  return {
    is: 'failing',
    all: share === 1,
    text: share === 1 ? 'every record FAILED' : 'some records FAILED',
  };
}

/** The service's columns were other ones: `renamed` by their old names, `dropped`, `added` with their value. */
export function otherColumns(changes, text) {
  return { is: 'columns', renamed: {}, dropped: [], added: {}, ...changes, text };
}

const healed = { code: 0, told: null, output: complete };
const base = { chunks: CHUNKS, ambiguous: 0, paidTwice: 0 };

/** The run ends as if nothing had been. @param told what a warning says. */
export function done(told = null, output = complete) {
  return { ...base, code: 0, told, output, second: { code: 0, told: null, output } };
}

/** Tried again, with a warning, until it is well. */
export const triedAgain = done('tried again');
/** The parts were fetched a second time, and then held. */
export const fetchedAgain = done('fetched once more');

/** 3: published with records that have no prediction; a second run says so again and pays nothing. */
export function published(output, told, changes = {}) {
  return { ...base, code: 3, told, output, second: { code: 3, told: null, output }, ...changes };
}

/** The second run asks for the folios again, and the service that behaves knows them. */
export function lost(...chunks) {
  return published(without(chunks, 'FOLIO_LOST'), 'FOLIO_LOST', { second: healed });
}

/** The run ends without a publication; the same command on a service that behaves finishes it. */
function stopped(code, told, changes = {}) {
  return { ...base, code, told, output: nothing, second: healed, ...changes };
}

/** 5: given up after `retry.giveUpAfter`. */
export const outage = stopped(5, 'SERVICE_UNAVAILABLE');
/** 5: given up after `poll.timeout`. */
export const timedOut = stopped(5, 'FOLIOS_TIMED_OUT');
/** 6: what the parts hold does not match, at the second time of asking too; later it is asked once more. */
export const untrusted = (told) =>
  stopped(6, told, { second: { code: 0, told: 'fetched once more', output: complete } });
/** 6, and again 6: no fetch can cure it, so what was bought stays as it is. @param wayOut what publishes it. */
const incurable = (told, wayOut) =>
  stopped(6, told, { second: { code: 6, told, output: nothing }, ...(wayOut && { wayOut }) });
/** 6 until the other columns are taken as they are. @param output what is published then. */
export const columnsChanged = (output, args = []) =>
  incurable('COLUMNS_CHANGED', {
    args: [...args, '--set', 'result.onChange=ignore'],
    code: 0,
    output,
    folios: CHUNKS,
    text: `under \`result.onChange: ignore\` it goes on, ${output.text}, and pays nothing`,
  });
/** 7. */
export const refused = (told) => stopped(7, told);

/** One upload of which nobody knows: sent again last of all. @param accepted whether the service had taken it. */
export function ambiguousOnce(accepted) {
  return { ...done('AMBIGUOUS_UPLOAD'), ambiguous: 1, paidTwice: accepted ? 1 : 0 };
}

/** Every upload is ambiguous, and each is sent again once a run: two for each chunk, then 5. */
export function ambiguousForEver(accepted) {
  const ambiguous = 2 * CHUNKS;
  const second = { code: 0, told: 'is sent again', output: complete };
  return stopped(5, 'CHUNKS_AMBIGUOUS', { ambiguous, paidTwice: accepted ? ambiguous : 0, second });
}

/** 7, at once: the upload may be accepted all the same, so it is ambiguous, and sent again last of all later. */
export const redirected = stopped(7, 'SERVICE_REDIRECTS', {
  ambiguous: 1,
  second: { code: 0, told: 'is sent again', output: complete },
});

const paidAnew = {
  args: ['--new', '--yes'],
  code: 0,
  told: 'is given up',
  output: complete,
  text: '`--new --yes` begins a run that is paid anew',
};

/** Replies came and could not be read: these chunks are not sent again, and each is paid for once. */
export function unreadable(...chunks) {
  const output = without(chunks, 'AMBIGUOUS_HELD');
  return published(output, 'AMBIGUOUS_UPLOAD', { ambiguous: chunks.length });
}

/** 6, three in a row, and again 6 without the fault: nothing is left to be sent, and nothing was ever readable. */
export const unreadableForEver = stopped(6, 'RECEIPTS_UNREADABLE', {
  ambiguous: CHUNKS,
  second: { code: 6, told: 'RECEIPTS_UNREADABLE', output: nothing },
  wayOut: { ...paidAnew, folios: 2 * CHUNKS },
});

/** 6, and again 6 without the fault: what is real and what is a rehearsal is not known any more. */
export const mixed = stopped(6, 'SERVICE_MIXED', {
  second: { code: 6, told: 'SERVICE_MIXED', output: nothing },
  wayOut: paidAnew,
});

/** Under `ambiguous.policy: hold` the first chunk is not sent again. */
export function held(accepted) {
  const output = without([1], 'AMBIGUOUS_HELD');
  return published(output, 'AMBIGUOUS_UPLOAD', { ambiguous: 1, paidTwice: accepted ? 0 : -1 });
}

/** 6, and again 6 without the fault: what was read of an upload stands. Only a new run, paid anew, goes on. */
export const misread = stopped(6, 'UPLOAD_MISREAD', {
  second: { code: 6, told: 'UPLOAD_MISREAD', output: nothing },
  // What a local service has accepted was not paid, so nothing is said of it.
  wayOut: { ...paidAnew, told: null, folios: 1 + CHUNKS },
});

/** The columns were learned from a part that was not as the others are. */
export const mislearned = columnsChanged(
  otherColumns({ emptied: { chunks: [1], column: 'naics_code' } }, 'complete, the column empty in chunk 1'),
  ['--set', 'result.columns=[naics_code,naics_title,confidence]'],
);

/** A refused chunk is halved, and its halves are accepted: so many chunks in all. */
export const halved = (chunks) => ({ ...done(), chunks });

/** A refused chunk is halved until the one record that the service refuses stands alone: FAILED, and data. */
export function foundRefused(record, status, chunks) {
  const error = `a fault: the service answers ${status}`;
  const output = { is: 'refused', record, error, text: 'complete, the bad record FAILED (RECORD_REFUSED)' };
  return { ...done('it is FAILED, and the others go on', output), chunks };
}

/** A file of whatever size is too large: no single record is suspected while nothing was accepted, so 7. */
export const alwaysTooLarge = (chunks) => ({ ...refused('FILE_TOO_LARGE'), chunks });

/** 9, and again 9 without the fault: the records have failed, and more are not paid for unless told to. */
export const tooManyFailed = stopped(9, 'FAILURE_RATE', {
  second: { code: 9, told: 'FAILURE_RATE', output: nothing },
  wayOut: {
    args: ['--set', 'failures.tolerate=100%'],
    code: 0,
    output: madeToFail(0.6),
    folios: CHUNKS,
    text: 'with `failures.tolerate` raised it goes on',
  },
});

/** Of a search: there is nothing to publish, only an answer. */
export const answered = (told = null) => ({ code: 0, told });
export const searchFailed = (code, told) => ({ code, told });
