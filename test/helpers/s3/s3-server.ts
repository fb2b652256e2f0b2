/**
 * A store with the interface of S3, for tests: @20minutes/s3rver behind a front that adds what it lacks.
 *
 * s3rver 4 keeps objects, metadata and parts on a disk and checks signatures. It cannot list or abort uploads in parts,
 * does not check the MD5 of what arrives, has no rights, no versions, no conditions on removals, no 5 MB minimum of a
 * part, and gives a whole object the MD5 of its content as its tag. The front adds the lists, the abort, the MD5 and
 * refusals, also of newer checksums; the rest stays unlike AWS.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import S3rver from '@20minutes/s3rver';
import type { S3Options } from '../../../src/files/s3/connect.js';

/** A request that has arrived. */
export interface SeenRequest {
  /** Such as `PUT part`, `POST begin`, `POST complete`, `DELETE upload`, or the bare method. */
  readonly what: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/** The answer in place of that of the store. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** A body in place of the XML with the code. */
  readonly body?: string;
}

export interface S3Server {
  readonly url: string;
  readonly bucket: string;
  readonly seen: SeenRequest[];
  /** Called before each request is answered. It may refuse it, or never resolve. */
  before: (request: SeenRequest) => Promise<Refusal | undefined> | Refusal | undefined;
  /** Says whether the answer to a request that was done is lost. */
  after: (request: SeenRequest) => boolean;
  /** The uploads in parts that are neither complete nor aborted: key to number of parts. */
  uploads(): Promise<Record<string, number>>;
  /** The keys of all objects, sorted. */
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

/** The credentials that the store knows, as variables of the environment. */
export const s3Environment = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
  AWS_REGION: 'us-east-1',
} as const;

/** Gives them to this process, and takes all else of AWS from it: a profile, for example, would be used instead. */
export function useS3Environment(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, s3Environment);
}

const bucket = 'nightly-out';

/** The checksums that AWS has added since 2022: other stores refuse them. */
const NEWER = /^x-amz-(?:sdk-)?checksum|^x-amz-trailer/;

export async function openS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'foliopipe-s3-'));
  const store = new S3rver({ directory, silent: true, configureBuckets: [{ name: bucket, configs: [] }] });
  await store.configureBuckets();
  const handle = store.callback();
  const pending = join(directory, bucket, '._S3rver_uploads');
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url!, 'http://store');
    const [, inBucket, ...rest] = decodeURIComponent(url.pathname).split('/');
    const key = rest.join('/');
    const seen = { what: kindOf(request.method!, url.searchParams), key, query: url.searchParams };
    self.seen.push(seen);
    const refusal = await self.before(seen);
    if (refusal !== undefined) return refuse(request, response, refusal);
    if (Object.keys(request.headers).some((name) => NEWER.test(name))) {
      return refuse(request, response, { status: 501, code: 'NotImplemented' });
    }
    if (self.after(seen)) loseReply(response);
    if (inBucket !== bucket) return handle(request, response);
    const uploadId = url.searchParams.get('uploadId');
    if (uploadId !== null && !existsSync(join(pending, uploadId))) {
      return refuse(request, response, { status: 404, code: 'NoSuchUpload' });
    }
    switch (seen.what) {
      case 'GET uploads':
        return reply(response, await listUploads(pending, url.searchParams.get('prefix') ?? ''));
      case 'GET parts':
        return reply(response, await listParts(join(pending, uploadId!)));
      case 'DELETE upload':
        await rm(join(pending, uploadId!), { recursive: true });
        return response.writeHead(204).end();
      default:
        return passOn(request, response, handle);
    }
  };
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const self: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    seen: [],
    before: () => undefined,
    after: () => false,
    uploads: async () => {
      const ids = await readdir(pending).catch(() => []);
      const entries = await Promise.all(
        ids.map(async (id) => [
          await readFile(join(pending, id, 'key'), 'utf8'),
          (await partsIn(join(pending, id))).length,
        ]),
      );
      return Object.fromEntries(entries);
    },
    keys: async () => {
      const names = await readdir(join(directory, bucket), { recursive: true });
      const objects = names.filter((name) => name.endsWith('._S3rver_object'));
      return objects.map((name) => name.slice(0, -'._S3rver_object'.length)).sort();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(directory, { recursive: true, force: true });
    },
  };
  await mkdir(pending, { recursive: true });
  return self;
}

/** Cuts the connection when the reply begins. */
function loseReply(response: ServerResponse): void {
  response.writeHead = () => response.destroy();
  response.write = () => false;
  response.end = () => response.destroy();
}

function kindOf(method: string, query: URLSearchParams): string {
  if (query.has('uploads')) return method === 'POST' ? 'POST begin' : 'GET uploads';
  if (!query.has('uploadId')) return method;
  return { PUT: 'PUT part', POST: 'POST complete', GET: 'GET parts', DELETE: 'DELETE upload' }[method]!;
}

/** Passes a request on, after the MD5 of its body was compared. */
async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<unknown> {
  const md5 = request.headers['content-md5'];
  if (md5 === undefined) return handle(request, response);
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  if (createHash('md5').update(body).digest('base64') !== md5) {
    return refuse(request, response, { status: 400, code: 'BadDigest' });
  }
  const { method, url, headers, httpVersion, socket } = request;
  const again = Object.assign(Readable.from([body]), { method, url, headers, httpVersion, socket });
  return handle(again as unknown as IncomingMessage, response);
}

async function partsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names.filter((name) => /^\d+$/.test(name) && names.includes(`${name}.md5`)).map(Number);
}

async function listUploads(pending: string, prefix: string): Promise<string> {
  const uploads = await Promise.all(
    (await readdir(pending)).map(async (id) => ({
      id,
      key: await readFile(join(pending, id, 'key'), 'utf8'),
    })),
  );
  const found = uploads.filter(({ key }) => key.startsWith(prefix));
  const text = found.map(({ id, key }) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
  return `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${text.join('')}</ListMultipartUploadsResult>`;
}

async function listParts(folder: string): Promise<string> {
  const numbers = (await partsIn(folder)).sort((a, b) => a - b);
  const text = await Promise.all(
    numbers.map(async (number) => {
      const { size } = await stat(join(folder, `${number}`));
      const md5 = await readFile(join(folder, `${number}.md5`), 'utf8');
      return `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${md5}&quot;</ETag><Size>${size}</Size></Part>`;
    }),
  );
  return `<ListPartsResult><IsTruncated>false</IsTruncated>${text.join('')}</ListPartsResult>`;
}

function reply(response: ServerResponse, xml: string): void {
  response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>\n${xml}`);
}

function refuse(request: IncomingMessage, response: ServerResponse, { status, code, body }: Refusal): void {
  request.resume();
  const xml =
    body ?? `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>no \u001b[31mred</Message></Error>`;
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(request.method === 'HEAD' ? undefined : xml);
}

/** How a test reaches the store. */
export function s3Options({ url }: Pick<S3Server, 'url'>): S3Options {
  useS3Environment();
  return { endpoint: url, region: null, forcePathStyle: true, connectMs: 5000, idleMs: 5000, attempts: 2 };
}
