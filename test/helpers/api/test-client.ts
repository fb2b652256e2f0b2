/** The HTTP client under test, with short timeouts and a log that tests can read. */
import { setMaxListeners } from 'node:events';
import { type ApiOptions, openPredictionApi } from '../../../src/api/open-prediction-api.js';
import type { PredictionApi, UploadFile } from '../../../src/api/prediction-api.js';

export const TOKEN = 'tok/en+of=the tests';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn';
  readonly fields: object;
  readonly message: string;
}

export interface TestClient extends PredictionApi {
  readonly log: readonly LogLine[];
}

export function openTestClient(baseUrl: string, changes: Partial<ApiOptions> = {}): TestClient {
  const log: LogLine[] = [];
  const write = (level: LogLine['level']) => (fields: object, message: string) => {
    log.push({ level, fields, message });
  };
  const api = openPredictionApi({
    baseUrl,
    legacyBaseUrl: baseUrl,
    token: { reveal: () => TOKEN },
    tokenIn: 'query',
    requestsPerSecond: 1000,
    timeouts: { connect: 1000, idle: 1000, upload: 5000, shutdown: 0 },
    retry: { first: 1, max: 5, giveUpAfter: 5000 },
    lostAfter: 20,
    logger: { debug: write('debug'), info: write('info'), warn: write('warn') },
    ...changes,
  });
  return { ...api, log };
}

/** A file in memory, in pieces of one byte less than a page. */
export function uploadFile(name: string, content: string | Uint8Array): UploadFile {
  const bytes = Buffer.from(content);
  return {
    name,
    bytes: bytes.length,
    open: async function* () {
      for (let at = 0; at < bytes.length; at += 4095) yield bytes.subarray(at, at + 4095);
    },
  };
}

/** Gives the error that a call rejects with; throws if the call succeeds. */
export async function errorOf(call: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    return error;
  }
  throw new Error(`the call succeeded with ${JSON.stringify(value)}`);
}

export const noSignal = new AbortController().signal;
// As on the signal of a run, many requests listen at the same time.
setMaxListeners(0, noSignal);
