/** `foliopipe serve` in a process of its own, and what it remembers once it has ended. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type CliEnd, spawnCli } from './cli.js';

export interface ServeOptions {
  /** 0 takes a free one. */
  readonly port?: number;
  readonly recordsPerSecond?: number;
  readonly segmentRecords?: number;
  readonly maxOpen?: number;
}

export interface Serve {
  readonly url: string;
  readonly port: number;
  /** SIGTERM, as a person would end it. */
  stop(): Promise<CliEnd>;
  /** SIGKILL. */
  kill(): Promise<CliEnd>;
}

/** The token of every service and client in these tests; looked for where it must not be. */
export const serveToken = 'tok-3f9c-must-not-be-seen';

export async function openServe(dataDir: string, options: ServeOptions = {}): Promise<Serve> {
  const { port = 0, recordsPerSecond = 0, segmentRecords = 10_000, maxOpen = 1_000 } = options;
  const numbers = {
    '--port': port,
    '--records-per-second': recordsPerSecond,
    '--segment-records': segmentRecords,
    '--max-open': maxOpen,
  };
  const flags = Object.entries(numbers).flatMap(([flag, number]) => [flag, String(number)]);
  const child = spawnCli(['serve', '--predictor', 'hash', '--data', dataDir, ...flags], {
    env: { FOLIOPIPE_SERVE_TOKEN: serveToken },
  });
  const [, url = ''] = await child.waitFor('stdout', /^listening on (\S+)\n/);
  const end = (signal: 'SIGTERM' | 'SIGKILL') => () => {
    child.kill(signal);
    return child.ended;
  };
  return { url, port: Number(new URL(url).port), stop: end('SIGTERM'), kill: end('SIGKILL') };
}

export interface ServedFolio {
  readonly folio: string;
  readonly fileName: string;
  readonly records: number;
}

/** Every folio that a service has accepted, oldest first; the service must have ended. */
export function servedFolios(dataDir: string): ServedFolio[] {
  const db = new Database(join(dataDir, 'service.db'));
  try {
    return db
      .prepare<[], ServedFolio>('SELECT folio, file_name AS fileName, records FROM folios ORDER BY id')
      .all();
  } finally {
    db.close();
  }
}
