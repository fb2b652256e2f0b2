/** Common ways in which the fake service misbehaves. */
import type { Operation, Trouble, TroubleMaker } from './behaviour.js';
import type { FakeResult } from './parts.js';

/** Trouble with the first `times` requests of an operation, for each chunk and part. */
export function firstTimes(operation: Operation, times: number, trouble: Trouble): TroubleMaker {
  return (request) => (request.operation === operation && request.again <= times ? trouble : undefined);
}

/** Trouble with the first upload of some chunks. */
export function firstUploadOf(chunks: readonly number[], trouble: Trouble): TroubleMaker {
  return ({ operation, chunk, again }) =>
    operation === 'upload' && again === 1 && chunks.includes(chunk ?? 0) ? trouble : undefined;
}

/** The HTML page of a proxy instead of JSON. */
export function htmlPage(status: number, headers: Readonly<Record<string, string>> = {}): Trouble {
  const body = '<html><head><style>h1 {color: red}</style></head><body><h1>Sorry!</h1></body></html>';
  return { kind: 'answer', status, headers: { 'content-type': 'text/html', ...headers }, body };
}

/** Results in a shuffled order that is always the same. */
export function shuffled(results: readonly FakeResult[]): FakeResult[] {
  const keyed = results.map((result, at) => ({ result, key: (at * 7919 + 13) % 101 }));
  return keyed.sort((a, b) => a.key - b.key).map(({ result }) => result);
}

/** Echoes only these of the sent columns, and writes all added ones. */
export function givingBack(...kept: readonly string[]): (all: readonly string[]) => string[] {
  return (all) =>
    all.filter(
      (column) => kept.includes(column) || !['record_id', 'name', 'address', 'state'].includes(column),
    );
}
