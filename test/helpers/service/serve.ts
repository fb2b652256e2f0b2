/** The local service for jobs of the command line, and the folios in its database. */
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openService } from '../../../src/service/open-service.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useSharedFolder } from '../folders/folders.js';
import { type CliEnd, spawnCli } from '../processes/cli.js';
import { serviceOptions } from './client.js';

export interface ServeOptions {
  /** 0 takes a free port. */
  readonly port?: number;
  readonly recordsPerSecond?: number;
  readonly segmentRecords?: number;
}

export interface Serve {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** The token of the local service and its clients; tests search for it where it must not appear. */
export const serveToken = 'tok-3f9c-must-not-be-seen';

/** Opens the service in this process; `dataDir` may be the folder of an earlier service. */
export async function openServe(dataDir: string, options: ServeOptions = {}): Promise<Serve> {
  const service = await openService(
    serviceOptions(dataDir, { token: serveToken, maxOpen: 1_000, ...options }),
  );
  return { url: service.baseUrl, port: Number(new URL(service.baseUrl).port), stop: service.close };
}

/** The local service that all tests of a file share. */
export interface SharedServe extends Pick<Serve, 'url' | 'stop'> {
  /** Opens it again after `stop`, at the same address. */
  start(): Promise<void>;
  /** The accepted folios of files whose names begin with this, oldest first. The service is closed and opened again. */
  served(begin?: string): Promise<ServedFolio[]>;
}

export function useServe(options: ServeOptions = {}): SharedServe {
  const folder = useSharedFolder();
  let serve: Serve;
  const start = async () => {
    serve = await openServe(await folder(), { port: serve?.port ?? 0, ...options });
  };
  beforeAll(start);
  afterAll(() => serve.stop());
  return {
    get url() {
      return serve.url;
    },
    stop: () => serve.stop(),
    start,
    served: async (begin = '') => {
      await serve.stop();
      const folios = servedFolios(await folder());
      await start();
      return folios.filter(({ fileName }) => fileName.startsWith(begin));
    },
  };
}

/** Runs `foliopipe serve` in a process of its own, which a test can kill. */
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

/** Every accepted folio, oldest first; the service must be closed. */
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
