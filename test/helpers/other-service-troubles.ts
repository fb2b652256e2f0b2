/** Ready-made ways in which the independent service misbehaves. */
import type { Operation, Trouble, TroubleMaker } from './other-service-behaviour.js';
import type { OtherResult } from './other-service-parts.js';

/** The same trouble with the first `times` requests of an operation for each chunk and part. */
export function firstTimes(operation: Operation, times: number, trouble: Trouble): TroubleMaker {
  return (request) => (request.operation === operation && request.again <= times ? trouble : undefined);
}

/** The same trouble with the first upload of a few chunks. */
export function firstUploadOf(chunks: readonly number[], trouble: Trouble): TroubleMaker {
  return ({ operation, chunk, again }) =>
    operation === 'upload' && again === 1 && chunks.includes(chunk ?? 0) ? trouble : undefined;
}

/** A proxy's page where JSON should be. */
export function htmlPage(status: number, headers: Readonly<Record<string, string>> = {}): Trouble {
  const body = '<html><head><style>h1 {color: red}</style></head><body><h1>Sorry!</h1></body></html>';
  return { kind: 'answer', status, headers: { 'content-type': 'text/html', ...headers }, body };
}

/** Results in an order that follows from nothing, but is always the same. */
export function shuffled(results: readonly OtherResult[]): OtherResult[] {
  const keyed = results.map((result, at) => ({ result, key: (at * 7919 + 13) % 101 }));
  return keyed.sort((a, b) => a.key - b.key).map(({ result }) => result);
}

/** Only these of the columns that were sent come back, and all that are added. */
export function givingBack(...kept: readonly string[]): (all: readonly string[]) => string[] {
  return (all) =>
    all.filter(
      (column) => kept.includes(column) || !['record_id', 'name', 'address', 'state'].includes(column),
    );
}
