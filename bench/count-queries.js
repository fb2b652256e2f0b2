/** Preloaded into a client: at its end it prints how many statements it has sent to Postgres. */
import { writeSync } from 'node:fs';
import pg from 'pg';

const { query } = pg.Client.prototype;
let queries = 0;
pg.Client.prototype.query = function count(...args) {
  queries += 1;
  return query.apply(this, args);
};
process.on('exit', () => writeSync(1, `${JSON.stringify({ queries })}\n`));
