/** Counts the statements that a client sends to Postgres. If it is preloaded, it prints their number at the end. */
import { writeSync } from 'node:fs';
import pg from 'pg';

const { query } = pg.Client.prototype;
/** A program that prints the number itself sets `isPrinted` to false. */
export const counted = { queries: 0, isPrinted: true };
pg.Client.prototype.query = function count(...args) {
  counted.queries += 1;
  return query.apply(this, args);
};
process.on('exit', () => {
  const { queries, isPrinted } = counted;
  if (isPrinted) writeSync(1, `${JSON.stringify({ queries })}\n`);
});
