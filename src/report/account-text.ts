/** Words for what an account does now, which `status` and `check` show. */
import type { AccountState } from '../checkpoint/account-state.js';
import { countOf, formatDuration } from '../quantities.js';
import { presentTexts } from '../text.js';

/**
 * Such as `12 of 16 folios open (nightly 8, weekly 4 without a process), 20 requests a second, 3 pipelines wait`.
 * @param now epoch milliseconds.
 */
export function accountText(account: AccountState, now: number): string {
  const { open, folios, admitted, requestsPerSecond, waiting, pausedUntil, pipelines } = account;
  const names = whose(pipelines);
  const parts = presentTexts([
    folios === null
      ? `${countOf(open, 'folio')} open${names}`
      : `${open} of ${countOf(folios, 'folio')} open${names}`,
    admitted !== null && `the service has refused more than ${admitted}`,
    requestsPerSecond === null
      ? 'no pipeline works with it now'
      : `${countOf(requestsPerSecond, 'request')} a second`,
    waiting !== 0 && `${countOf(waiting, 'pipeline')} ${waiting === 1 ? 'waits' : 'wait'}`,
    pausedUntil !== null && `paused by the service for ${formatDuration(Math.max(pausedUntil - now, 0))}`,
  ]);
  return parts.join(', ');
}

/** Further pipelines are only counted. */
const MOST_NAMED = 5;

/** Such as ` (nightly 8, weekly 4 without a process)`. */
function whose(pipelines: AccountState['pipelines']): string {
  if (pipelines.length === 0) return '';
  const named = pipelines
    .slice(0, MOST_NAMED)
    .map(({ pipeline, open, isWorking }) => `${pipeline} ${open}${isWorking ? '' : ' without a process'}`);
  const others = pipelines.length - named.length;
  return ` (${presentTexts([...named, others > 0 && `${others} more`]).join(', ')})`;
}

/** What to do about folios that nobody collects; undefined if there are none. */
export function leftFoliosHint({ pipelines }: AccountState): string | undefined {
  const left = pipelines.filter(({ isWorking }) => !isWorking);
  if (left.length === 0) return undefined;
  const names = left.map(({ pipeline }) => pipeline).slice(0, MOST_NAMED);
  return `no process works on ${names.join(', ')}: their folios count until foliopipe run or foliopipe collect, with their configs, has fetched them, or foliopipe abandon has given them up`;
}
