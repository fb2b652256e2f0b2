/** The service that the jobs of the command line ask, and what it remembers once it has ended. */
import { join } from 'node:path';
import { openService } from '../../src/service/open-service.js';
import { openSqlite } from '../../src/sqlite-driver.js';
import { type CliEnd, spawnCli } from './cli.js';
import { serviceOptions } from './service-client.js';

export interface ServeOptions {
  /** 0 takes a free one. */
  readonly port?: number;
  readonly recordsPerSecond?: number;
  readonly segmentRecords?: number;
}

export interface Serve {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** The token of every service and client in these tests; looked for where it must not be. */
export const serveToken = 'tok-3f9c-must-not-be-seen';

/** A service in this process, on the folder of an earlier one where there is one. */
export async function openServe(dataDir: string, options: ServeOptions = {}): Promise<Serve> {
  const service = await openService(
    serviceOptions(dataDir, { token: serveToken, maxOpen: 1_000, ...options }),
  );
  return { url: service.url, port: Number(new URL(service.url).port), stop: service.close };
}

/** `foliopipe serve` in a process of its own, to be killed. */
export async function spawnServe(
  dataDir: string,
  { recordsPerSecond, segmentRecords }: Required<Omit<ServeOptions, 'port'>>,
): Promise<{ readonly url: string; readonly port: number; kill(): Promise<CliEnd> }> {
  const numbers = ['--records-per-second', `${recordsPerSecond}`, '--segment-records', `${segmentRecords}`];
  const child = spawnCli(['serve', '--port', '0', '--predictor', 'hash', '--data', dataDir, ...numbers], {
    env: { FOLIOPIPE_SERVE_TOKEN: serveToken },
  });
  const [, url = ''] = await child.waitFor('stdout', /^listening on (\S+)\n/);
  const kill = () => {
    child.kill('SIGKILL');
    return child.ended;
  };
  return { url, port: Number(new URL(url).port), kill };
}

export interface ServedFolio {
  readonly folio: string;
  readonly fileName: string;
  readonly records: number;
}

/** Every folio that a service has accepted, oldest first; the service must have ended. */
export function servedFolios(dataDir: string): ServedFolio[] {
  const db = openSqlite(join(dataDir, 'service.db'));
  try {
    return db
      .prepare<[], ServedFolio>('SELECT folio, file_name AS fileName, records FROM folios ORDER BY id')
      .all();
  } finally {
    db.close();
  }
}
