/**
 * A process that works on several pipelines at once, as a worker does. Prints when it sent each request, in ms since the
 * epoch, how it got its permits and slots, its statements, and the failures.
 * node bench/ours/pipelines.js CONFIG...
 */
import { ClientRequest } from 'node:http';
import pg from 'pg';
import { enrich } from '../../dist/bundle/index.js';
import { counted } from '../count-queries.js';
import { readConfig } from './read-config.js';

counted.isPrinted = false;
/** Each question for permits with its answer; and for each request, how many came before it. */
const asks = [];
const slots = [];
const { query } = pg.Client.prototype;
pg.Client.prototype.query = async function watch(asked, ...more) {
  const reply = await query.call(this, asked, ...more);
  const [row] = reply.rows ?? [];
  if (row?.granted !== undefined && !row.raced) {
    const [, pipeline] = asked.values;
    const { granted, wanted } = row;
    const at = performance.timeOrigin + performance.now();
    asks.push({ pipeline, at, granted: granted.length, waits: wanted > granted.length });
  }
  if (row?.ends !== undefined) slots.push(((row.ends[0] - row.receivedAt) * row.perSecond) / 1000);
  return reply;
};
const sent = [];
const known = new WeakSet();
for (const name of ['flushHeaders', 'write', 'end']) {
  const original = ClientRequest.prototype[name];
  ClientRequest.prototype[name] = function send(...args) {
    if (!known.has(this)) sent.push(performance.timeOrigin + performance.now());
    known.add(this);
    return original.apply(this, args);
  };
}
const ended = await Promise.allSettled(process.argv.slice(2).map((file) => enrich(readConfig(file))));
const failures = ended.flatMap(({ reason }) => (reason === undefined ? [] : [String(reason)]));
console.log(JSON.stringify({ sent, asks, slots, failures, queries: counted.queries }));
