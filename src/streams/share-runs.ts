/**
 * Lets callers share runs of the same work, such as a sync of a file: all callers that come during a run share the next
 * one, because the present run may have begun before the change that they want to be synced.
 */

/** The run of a key: its end, and that of the run after it, if anyone waits for it. */
interface Runs {
  readonly running: Promise<void>;
  next?: Promise<void>;
}

/**
 * @param work is never running twice for the same key.
 * @returns a function that resolves after a run for the key that began after the call. It fails if that run fails, or the
 *   run before it: the system reports only once that a sync has lost a change, so the next sync would succeed.
 */
export function shareRuns<Key>(work: (key: Key) => Promise<void>): (key: Key) => Promise<void> {
  const runs = new Map<Key, Runs>();
  const begin = (key: Key): Promise<void> => {
    const running = work(key).then(
      () => {
        // A run that is waited for takes the place of this one when it begins.
        if (own.next === undefined) runs.delete(key);
      },
      (error: unknown) => {
        runs.delete(key);
        throw error;
      },
    );
    const own: Runs = { running };
    runs.set(key, own);
    return running;
  };
  return (key) => {
    const known = runs.get(key);
    if (known === undefined) return begin(key);
    known.next ??= known.running.then(() => begin(key));
    return known.next;
  };
}
