/**
 * Sends one paid search: its intent is committed before the request, and its outcome after it (rule "Intent first",
 * docs/architecture.md#intent-first).
 */
import type { SearchRecord, SearchReply } from '../../api/prediction-api.js';
import type { RunContext } from '../../run-context.js';
import { whyAmbiguous } from '../submit/upload-chunk.js';

/** Where a search is recorded. Each method resolves when its change is on the disk. */
export interface SearchRecording<T> {
  readonly begin: () => Promise<void>;
  readonly answer: (reply: SearchReply) => Promise<T>;
  /** `dropped`: it was certainly not accepted. */
  readonly fail: (state: 'dropped' | 'ambiguous') => Promise<void>;
}

/**
 * Is never repeated by itself: a search that failed may have been paid for.
 * @param fields the business to search for, by the names of the interface.
 * @returns what `answer` returns.
 * @throws GuardError when the budget is used up: nothing is sent then; AmbiguousUploadError, RefusedError, OutageError
 *   of the request; the reason of the signal.
 */
export async function searchOnce<T>(
  run: Pick<RunContext, 'api' | 'signal' | 'at'>,
  fields: SearchRecord,
  { begin, answer, fail }: SearchRecording<T>,
): Promise<T> {
  await begin();
  run.at('after-search-intent-before-post');
  let reply: SearchReply;
  try {
    reply = await run.api.search(fields, run.signal);
  } catch (error) {
    await fail(whyAmbiguous(error, run.signal) === undefined ? 'dropped' : 'ambiguous');
    throw error;
  }
  run.at('after-search-post-before-commit');
  return answer(reply);
}
