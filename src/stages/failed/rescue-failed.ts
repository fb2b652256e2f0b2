/**
 * Searches each record that is still FAILED with the single-record search. The intent is committed before each paid
 * request (rule "Intent first", docs/architecture.md#intent-first). A record is not searched again if its search may
 * have been accepted.
 */
import type { PaidWaits, SearchRecord, SearchReply } from '../../api/prediction-api.js';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { budgetAt } from '../../config/sections/calendar.js';
import { AmbiguousUploadError, GuardError, OutageError, RefusedError, UntrustedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { searchValues } from '../../results/search-answers.js';
import type { RunContext } from '../../run-context.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { drain } from '../../streams/run-stages.js';
import { createReplyBreaker } from '../submit/check-replies.js';
import { expectStillHeld, NotAdmitted, takeBackIfLong, whyAmbiguous } from '../submit/upload-chunk.js';
import type { FailedRecordsNeeds } from './failed-records.js';
import { checkRescueColumns, type SearchableRecord, searchableRecords } from './searchable-records.js';

type RescueFailedNeeds = FailedRecordsNeeds &
  Pick<RunContext, 'api' | 'controller' | 'deferred' | 'clock' | 'lock'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordSearchIntent' | 'recordSearchEnd' | 'recordUnmerged'>;
  };

/**
 * Does not repeat an answered search. The source must be cut to its end and answered, and no round may be open.
 * @throws OutageError, GuardError when the searches stopped before the last record: the run goes on later; ConfigError
 *   when `failures.rescueColumns` names columns that the run does not have; RefusedError when the service refuses
 *   searches in general; UntrustedError when several replies in a row cannot be read; AmbiguousUploadError when a
 *   search is redirected.
 */
export async function rescueFailed(run: RescueFailedNeeds): Promise<void> {
  await checkRescueColumns(run);
  const sum = { asked: 0, answered: 0 };
  let stopped = false;
  const breaker = createReplyBreaker(0);

  const rescue = async (one: SearchableRecord): Promise<undefined> => {
    const { record, fields } = one;
    // If a kill came during a pause, a search that had begun would be ambiguous, and its record never searched again.
    await run.api.ready?.(run.signal);
    if (stopped) return;
    run.signal.throwIfAborted();
    try {
      const values = await breaker.watch(searchRecord(run, record, fields));
      sum.asked += 1;
      if (values !== null) sum.answered += 1;
      run.at('after-search-before-next');
    } catch (error) {
      if (error instanceof NotAdmitted) return rescue(one);
      if (error instanceof AmbiguousUploadError && error.doubt !== 'redirected') {
        run.logger.warn(
          { record, code: error.code },
          `record ${record}: ${error.message}; it stays FAILED and is not searched again`,
        );
        if (!breaker.allowsRequest) {
          stopped = true;
          run.deferred.error = unreadableError(run.id, breaker.unreadable, error.message);
        }
      } else if (isRecordRefused(error)) {
        run.logger.debug({ record, code: error.code }, `record ${record}: ${error.message}`);
      } else if (error instanceof OutageError || error instanceof GuardError) {
        stopped = true;
        run.deferred.error ??= error;
      } else {
        throw error;
      }
    }
  };

  const { uploads } = run.config.concurrency;
  const records = unmergeFirst(run, searchableRecords(run));
  await drain(mapConcurrent(records, uploads, rescue, run.controller));
  if (sum.asked > 0) {
    run.logger.info(
      { run: run.id, ...sum },
      `${countOf(sum.asked, 'failed record')} searched one by one, ${sum.answered} found`,
    );
  }
  if (run.deferred.error !== undefined) throw run.deferred.error;
}

/**
 * Whether there is a failed record that may be searched.
 * @throws ConfigError when `failures.rescueColumns` names columns that the run does not have.
 */
export async function mayRescue(run: RescueFailedNeeds): Promise<boolean> {
  await checkRescueColumns(run);
  for await (const _ of searchableRecords(run)) return true;
  return false;
}

/**
 * Makes all chunks unmerged before the first search, so that they are merged with the new answers, also after a kill.
 */
async function* unmergeFirst(
  run: RescueFailedNeeds,
  records: AsyncIterable<SearchableRecord>,
): AsyncGenerator<SearchableRecord> {
  let isFirst = true;
  for await (const record of records) {
    if (isFirst) {
      run.logger.info({ run: run.id }, 'the records that are still FAILED are searched one by one');
      await run.checkpoint.recordUnmerged(run.id, 1);
    }
    isFirst = false;
    yield record;
  }
}

/** @returns the values of the reply for the output; null if the reply has none. */
async function searchRecord(
  run: RescueFailedNeeds,
  record: number,
  fields: SearchRecord,
): Promise<Readonly<Record<string, string>> | null> {
  const now = run.clock.now();
  return searchOnce(run, fields, {
    begin: () => run.checkpoint.recordSearchIntent(run.id, record, now, budgetAt(run.config.budget, now)),
    answer: async ({ answer }) => {
      const values = searchValues(answer, run.config.failures.rescueColumns);
      await run.checkpoint.recordSearchEnd(run.id, record, { state: 'answered', values });
      return values;
    },
    fail: (state) => run.checkpoint.recordSearchEnd(run.id, record, { state }),
    waits: { paused: takeBackIfLong, begins: () => expectStillHeld(run) },
  });
}

function unreadableError(run: string, inRow: number, last: string): UntrustedError {
  return new UntrustedError(
    'SEARCHES_UNREADABLE',
    `run ${run}: ${inRow} replies to searches in a row could not be read, so nothing more is searched; the last: ${last}`,
    {
      hint: 'each of these searches may be paid for and is not sent again: check what answers at service.legacyBaseUrl; with failures.rescue: none the run is published without searches',
      facts: { run, inRow },
    },
  );
}

/** Whether the service refuses this record only, and may accept the next one. */
function isRecordRefused(error: unknown): error is RefusedError {
  const statuses: readonly unknown[] = [400, 404, 410, 422];
  return error instanceof RefusedError && statuses.includes(error.facts.status);
}

/** Where a search is recorded. Each method resolves when its change is durable. */
interface SearchRecording<T> {
  readonly begin: () => Promise<void>;
  readonly answer: (reply: SearchReply) => Promise<T>;
  /** `dropped`: the search was certainly not accepted. */
  readonly fail: (state: 'dropped' | 'ambiguous') => Promise<void>;
  /** See `PredictionApi.search`. */
  readonly waits?: PaidWaits;
}

/**
 * Sends one paid search: its intent is committed before the request, and its outcome after it. A search that failed is
 * not repeated, because it may have been paid for.
 * @param fields the business to search for, by the names of the interface.
 * @returns what `answer` returns.
 * @throws GuardError when the budget is used up: nothing is sent then; AmbiguousUploadError, RefusedError, OutageError
 *   of the request; the reason of the signal.
 */
export async function searchOnce<T>(
  run: Pick<RunContext, 'api' | 'signal' | 'at'>,
  fields: SearchRecord,
  { begin, answer, fail, waits }: SearchRecording<T>,
): Promise<T> {
  await begin();
  run.at('after-search-intent-before-post');
  let reply: SearchReply;
  try {
    reply = await run.api.search(fields, run.signal, waits);
  } catch (error) {
    await fail(whyAmbiguous(error, run.signal) === undefined ? 'dropped' : 'ambiguous');
    throw error;
  }
  run.at('after-search-post-before-commit');
  return answer(reply);
}
