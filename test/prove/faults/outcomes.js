/**
 * The expected outcome of each fault, written by hand from the rules in docs/architecture.md and the exit codes in
 * docs/failures.md, never copied from a run.
 *
 * An outcome says of the first run: `code`, `message` (the error's code, or a text of a warning; null: no warning),
 * `output`; of both runs: the `chunks` that must be accepted, `ambiguous` uploads, and `paidTwice`, the folios more
 * than chunks; and of the second run, on a service without faults: `second`.
 */
import { CHUNKS } from './job.js';

/** What is in the output's place; see check-output.js. */
export const complete = { is: 'complete', text: 'complete' };
export const nothing = { is: 'nothing', text: 'nothing published' };

/** The records of these chunks have no prediction, and the cause. */
export function without(chunks, cause) {
  const which = chunks.length === CHUNKS ? 'every chunk' : `chunk ${chunks.join(', ')}`;
  return { is: 'unprocessed', chunks, cause, text: `${which} UNPROCESSED (${cause})` };
}

/** The records that the fault makes fail are FAILED with its reason. */
export function madeToFail(share) {
  return {
    is: 'failing',
    all: share === 1,
    text: share === 1 ? 'every record FAILED' : 'some records FAILED',
  };
}

/** The service gave other columns: `renamed` by their old names, `dropped`, `added` with their value. */
export function otherColumns(changes, text) {
  return { is: 'columns', renamed: {}, dropped: [], added: {}, ...changes, text };
}

const healed = { code: 0, message: null, output: complete };
const base = { chunks: CHUNKS, ambiguous: 0, paidTwice: 0 };

/** The run ends as it does without the fault. @param message a text of a warning. */
export function done(message = null, output = complete) {
  return { ...base, code: 0, message, output, second: { code: 0, message: null, output } };
}

/** Tried again, with a warning, until it succeeds. */
export const triedAgain = done('tried again');
/** The parts were fetched a second time, and were then right. */
export const fetchedAgain = done('fetched once more');

/** 3: published with records that have no prediction; a second run says so again and pays nothing. */
export function published(output, message, changes = {}) {
  return { ...base, code: 3, message, output, second: { code: 3, message: null, output }, ...changes };
}

/** The second run asks for the folios again, and the service without faults knows them. */
export function lost(...chunks) {
  return published(without(chunks, 'FOLIO_LOST'), 'FOLIO_LOST', { second: healed });
}

/** The run ends without a publication; the same command on a service without faults finishes it. */
function stopped(code, message, changes = {}) {
  return { ...base, code, message, output: nothing, second: healed, ...changes };
}

/** 5: given up after `retry.giveUpAfter`. */
export const outage = stopped(5, 'SERVICE_UNAVAILABLE');
/** 5: given up after `poll.timeout`. */
export const timedOut = stopped(5, 'FOLIOS_TIMED_OUT');
/** 6: the parts do not match, even when they are fetched again. The second run fetches them once more. */
export const untrusted = (message) =>
  stopped(6, message, { second: { code: 0, message: 'fetched once more', output: complete } });
/** 6, and again 6: no fetch can change it, so what was bought stays as it is. @param wayOut what publishes it. */
const incurable = (message, wayOut) =>
  stopped(6, message, { second: { code: 6, message, output: nothing }, ...(wayOut && { wayOut }) });
/** 6 until the config accepts the other columns. @param output what is published then. */
export const columnsChanged = (output, args = []) =>
  incurable('COLUMNS_CHANGED', {
    args: [...args, '--set', 'result.onChange=ignore'],
    code: 0,
    output,
    folios: CHUNKS,
    text: `under \`result.onChange: ignore\` it goes on, ${output.text}, and pays nothing`,
  });
/** 7. */
export const refused = (message) => stopped(7, message);

/** One ambiguous upload, sent again last of all. @param accepted whether the service had accepted it. */
export function ambiguousOnce(accepted) {
  return { ...done('AMBIGUOUS_UPLOAD'), ambiguous: 1, paidTwice: accepted ? 1 : 0 };
}

/** Every upload is ambiguous, and each is sent again once a run: two for each chunk, then 5. */
export function ambiguousForEver(accepted) {
  const ambiguous = 2 * CHUNKS;
  const second = { code: 0, message: 'is sent again', output: complete };
  return stopped(5, 'CHUNKS_AMBIGUOUS', { ambiguous, paidTwice: accepted ? ambiguous : 0, second });
}

/** 7, at once: the upload may have been accepted, so it is ambiguous; the second run sends it again last of all. */
export const redirected = stopped(7, 'SERVICE_REDIRECTS', {
  ambiguous: 1,
  second: { code: 0, message: 'is sent again', output: complete },
});

const paidAnew = {
  args: ['--new', '--yes'],
  code: 0,
  message: 'is given up',
  output: complete,
  text: '`--new --yes` begins a run that is paid anew',
};

/** Replies that could not be read: these chunks are not sent again, and each is paid for once. */
export function unreadable(...chunks) {
  const output = without(chunks, 'AMBIGUOUS_HELD');
  return published(output, 'AMBIGUOUS_UPLOAD', { ambiguous: chunks.length });
}

/** 6, three in a row, and again 6 without the fault: nothing is left to be sent, and nothing was ever readable. */
export const unreadableForEver = stopped(6, 'RECEIPTS_UNREADABLE', {
  ambiguous: CHUNKS,
  second: { code: 6, message: 'RECEIPTS_UNREADABLE', output: nothing },
  wayOut: { ...paidAnew, folios: 2 * CHUNKS },
});

/** 6, and again 6 without the fault: it is no longer known which answers are real. */
export const mixed = stopped(6, 'SERVICE_MIXED', {
  second: { code: 6, message: 'SERVICE_MIXED', output: nothing },
  wayOut: paidAnew,
});

/** Under `ambiguous.policy: hold` the first chunk is not sent again. */
export function held(accepted) {
  const output = without([1], 'AMBIGUOUS_HELD');
  return published(output, 'AMBIGUOUS_UPLOAD', { ambiguous: 1, paidTwice: accepted ? 0 : -1 });
}

/** 6, and again 6 without the fault: the wrong count of an upload is recorded. Only a new run, paid anew, goes on. */
export const misread = stopped(6, 'UPLOAD_MISREAD', {
  second: { code: 6, message: 'UPLOAD_MISREAD', output: nothing },
  // What a local service has accepted was not paid for, so there is no warning.
  wayOut: { ...paidAnew, message: null, folios: 1 + CHUNKS },
});

/** The columns were learned from a part that differs from the others. */
export const mislearned = columnsChanged(
  otherColumns({ emptied: { chunks: [1], column: 'naics_code' } }, 'complete, the column empty in chunk 1'),
  ['--set', 'result.columns=[naics_code,naics_title,confidence]'],
);

/** A refused chunk is halved, and its halves are accepted. @param chunks how many chunks there are in all. */
export const halved = (chunks) => ({ ...done(), chunks });

/** A refused chunk is halved until the one record that the service refuses is alone: it is FAILED. */
export function foundRefused(record, status, chunks) {
  const error = `a fault: the service answers ${status}`;
  const output = { is: 'refused', record, error, text: 'complete, the bad record FAILED (RECORD_REFUSED)' };
  return { ...done('it is FAILED, and the others go on', output), chunks };
}

/** Files of every size are too large: no single record is suspected while nothing was accepted, so 7. */
export const alwaysTooLarge = (chunks) => ({ ...refused('FILE_TOO_LARGE'), chunks });

/** 9, and again 9 without the fault: the records have failed, and no more are paid for unless the config allows it. */
export const tooManyFailed = stopped(9, 'FAILURE_RATE', {
  second: { code: 9, message: 'FAILURE_RATE', output: nothing },
  wayOut: {
    args: ['--set', 'failures.tolerate=100%'],
    code: 0,
    output: madeToFail(0.6),
    folios: CHUNKS,
    text: 'with `failures.tolerate` raised it goes on',
  },
});

/** The outcomes of a search: there is nothing to publish, only an answer. */
export const answered = (message = null) => ({ code: 0, message });
export const searchFailed = (code, message) => ({ code, message });
