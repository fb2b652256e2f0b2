/** What `\copy` of psql does: sends a CSV into a new table of texts, in one COPY. node copy-postgres.js URL FILE TABLE */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { timed } from '../timed.js';

const [url, file, table] = process.argv.slice(2);

const handle = await open(file);
const { value: header } = await handle.readLines()[Symbol.asyncIterator]().next();
await handle.close();

await timed(async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create table ${table} (${header.split(',').map((name) => `"${name}" text`)})`);
  const copy = client.query(from(`copy ${table} from stdin (format csv, header true)`));
  await pipeline(createReadStream(file, { highWaterMark: 256 * 1024 }), copy);
  await client.end();
  return { rows: copy.rowCount };
});
