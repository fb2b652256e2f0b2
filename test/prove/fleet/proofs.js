/** What must hold after a night: equal outputs, no upload that was not reported, nothing left in the state. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../../dist/src/sqlite-driver.js';

/**
 * Compares an output with the unbroken one, and counts its uploads at the service, which must be stopped.
 * @param folder of the whole proof.
 */
export async function proveOutput({ folder, database, totals }, { pipeline, work, output }) {
  if (!readFileSync(join(work, 'enriched.csv')).equals(output)) {
    throw new Error(`the output of ${pipeline} differs from the unbroken one`);
  }
  const left = readdirSync(work).filter((name) => /partial|tmp$/.test(name));
  if (left.length > 0) throw new Error(`${pipeline} leaves behind: ${left.join(', ')}`);
  const { uploads, chunks } = JSON.parse(readFileSync(join(work, 'enriched.csv.manifest.json'), 'utf8'));
  const served = servedOf(folder, pipeline);
  const more = served.length - chunks.length;
  // Not every ambiguous upload has reached the service.
  if (more < 0 || more > uploads.ambiguous) {
    throw new Error(
      `${pipeline}: ${served.length} uploads of ${chunks.length} chunks, and ${uploads.ambiguous} reported`,
    );
  }
  totals.uploads += served.length;
  totals.chunks += chunks.length;
  totals.ambiguous += more;
  const doubtful = await database.ask(
    `SELECT file_name AS name FROM foliopipe.uploads WHERE state = 'ambiguous' AND file_name LIKE '${pipeline}-%'`,
  );
  totals.unsent += doubtful.filter(({ name }) => !served.includes(name)).length;
}

/** The names of its files that the service has accepted. */
function servedOf(folder, pipeline) {
  const served = openSqlite(join(folder, 'service/service.db'), { readonly: true });
  try {
    const like = 'SELECT file_name AS name FROM folios WHERE file_name LIKE ?';
    return served
      .prepare(like)
      .all(`${pipeline}-%`)
      .map(({ name }) => name);
  } finally {
    served.close();
  }
}

/** No permit, run or lease is left, and no worker is listed. */
export async function proveNothingLeft(database) {
  const workersLeft = await database.ask(
    "SELECT id FROM foliopipe.workers WHERE seen > now() - interval '2 seconds'",
  );
  if (workersLeft.length > 0) throw new Error('drained workers are still listed');
  for (const [what, text] of [
    ['permits', 'SELECT * FROM foliopipe.reserved_permits'],
    ['runs', "SELECT id, state FROM foliopipe.runs WHERE state IN ('open', 'publishing')"],
    ['leases', 'SELECT * FROM foliopipe.leases WHERE until > now()'],
  ]) {
    const rows = await database.ask(text);
    if (rows.length > 0) throw new Error(`${what} are left: ${JSON.stringify(rows)}`);
  }
}
