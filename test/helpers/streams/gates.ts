/** Lets a test decide when asynchronous work ends. */

export interface Gates<T> {
  /** Waits until the item's gate is opened or fails. */
  readonly enter: (item: T) => Promise<T>;
  readonly open: (item: T, result: T) => void;
  readonly fail: (item: T, error: Error) => void;
  /** Items that wait at their gates, in order. */
  readonly waiting: () => T[];
}

export function createGates<T>(): Gates<T> {
  const inside = new Map<T, { resolve: (result: T) => void; reject: (error: Error) => void }>();
  const leave = (item: T) => {
    const gate = inside.get(item);
    if (gate === undefined) throw new Error(`${String(item)} has not entered`);
    inside.delete(item);
    return gate;
  };
  return {
    enter: (item) => new Promise((resolve, reject) => void inside.set(item, { resolve, reject })),
    open: (item, result) => leave(item).resolve(result),
    fail: (item, error) => leave(item).reject(error),
    waiting: () => [...inside.keys()],
  };
}

/** Waits a few turns of the event loop, so that everything that is ready can run. */
export async function turns(count = 5): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
