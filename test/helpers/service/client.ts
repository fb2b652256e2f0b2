import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { openService, type Service, type ServiceOptions } from '../../../src/service/open-service.js';
import { withFolder } from '../folders/folders.js';

export const TOKEN = 'a-token-of-the-tests';
const BULK = '/naics/naics/external/upload';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: replies are checked member by member by the tests
  readonly body: any;
}

export function serviceOptions(dataDir: string, changes: Partial<ServiceOptions> = {}): ServiceOptions {
  return {
    token: TOKEN,
    dataDir,
    predictor: 'hash',
    maxOpen: 16,
    maxUploadBytes: 64 * 1024 * 1024,
    ...changes,
  };
}

/** Runs a service while `use` runs. */
export async function withService(
  changes: Partial<ServiceOptions>,
  use: (service: Service, dataDir: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (dataDir) => {
    const service = await openService(serviceOptions(dataDir, changes));
    try {
      await use(service, dataDir);
    } finally {
      await service.close();
    }
  });
}

export async function send(url: string, init?: RequestInit): Promise<Reply> {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export function uploadForm(csv: string, fields: Record<string, string> = { token: TOKEN }): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([csv], { type: 'text/csv' }), 'businesses.csv');
  return form;
}

export function upload(url: string, csv: string, fields?: Record<string, string>): Promise<Reply> {
  return send(url + BULK, { method: 'POST', body: uploadForm(csv, fields) });
}

export function track(url: string, folio: string, token = TOKEN): Promise<Reply> {
  return send(`${url}${BULK}/file/info?${new URLSearchParams({ folio, token })}`);
}

export function download(url: string, query: Record<string, string>): Promise<Reply> {
  return send(`${url}${BULK}/file/download?${new URLSearchParams({ token: TOKEN, ...query })}`);
}

export function search(url: string, body: object): Promise<Reply> {
  return send(`${url}/naics/naics/search/additional/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Uploads a file that must be accepted. @returns the folio. */
export async function acceptedFolio(url: string, csv: string): Promise<string> {
  const { status, body } = await upload(url, csv);
  if (status !== 200) throw new Error(`upload refused: ${status} ${body.message}`);
  return body.response.folio;
}

/** Polls until `isReached` is true for the `response` of a tracking reply. */
export async function trackUntil(
  url: string,
  folio: string,
  isReached: (response: Reply['body']) => boolean,
): Promise<Reply['body']> {
  for (;;) {
    const { body } = await track(url, folio);
    if (isReached(body.response)) return body.response;
    await setTimeout(10);
  }
}

export function trackFinished(url: string, folio: string): Promise<Reply['body']> {
  return trackUntil(url, folio, ({ progressInfo }) => progressInfo.status === 'FINISHED');
}

/** The decoded text of a part. */
export async function partText(
  url: string,
  folio: string,
  part: number,
  fileStatus = 'SUCCESSFUL',
): Promise<string> {
  const { body } = await download(url, { folio, part: String(part), fileStatus });
  return Buffer.from(body.response.content, 'base64').toString();
}

/** Expects the one shape of every refusal. */
export function expectRefusal(reply: Reply, status: number, reason: RegExp): void {
  expect(reply.body).toEqual({ message: expect.stringMatching(reason), response: null });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('foliopipe-service')).toBe('local');
  expect(reply.headers.get('content-type')).toContain('application/json');
}
