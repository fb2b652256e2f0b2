/** Builds the requests of the four operations (interface, section 4): addresses, headers and bodies. */
import { type FileLike, FormDataEncoder, type FormDataLike } from 'form-data-encoder';
import { ConfigError } from '../errors.js';
import { isLoopback } from '../loopback.js';
import type { Bytes, FileStatus, Milliseconds } from '../types.js';
import type { SearchRecord, UploadFile, UploadRequest } from './prediction-api.js';
import type { HttpRequest } from './send-request.js';
import type { TokenSecret } from './service-text.js';

/** The four operations of the interface (section 4). */
export type Operation = 'upload' | 'track' | 'download' | 'search';

export function isPaid(operation: Operation): boolean {
  return operation === 'upload' || operation === 'search';
}

export interface RequestsOptions {
  readonly baseUrl: string;
  /** Only `search` needs it. */
  readonly legacyBaseUrl: string | null;
  readonly token: TokenSecret;
  /** Where the two GETs carry the token; the two POSTs carry it in their body (interface, 4.1 and 4.4). */
  readonly tokenIn: 'query' | 'header';
  readonly timeouts: { readonly idle: Milliseconds };
}

interface Requests {
  /** The file is opened when the request is sent, and again for each further attempt. */
  upload(upload: UploadRequest): HttpRequest;
  track(folio: string): HttpRequest;
  download(folio: string, part: number, fileStatus: FileStatus): HttpRequest;
  /** Undefined when no address of the search is configured. */
  search(record: SearchRecord): HttpRequest | undefined;
}

const ACCEPT = { accept: 'application/json', 'accept-encoding': 'identity' };

/** @throws ConfigError when an address is not valid, or is http:// to another machine. */
export function createRequests(options: RequestsOptions): Requests {
  const { token, tokenIn, timeouts } = options;
  const address = createServiceAddress(options.baseUrl, 'service.baseUrl');
  const legacyAddress =
    options.legacyBaseUrl === null
      ? undefined
      : createServiceAddress(options.legacyBaseUrl, 'service.legacyBaseUrl');

  const getHeaders = tokenIn === 'header' ? { ...ACCEPT, token: token.reveal() } : ACCEPT;
  const get = (url: URL, inputs: Readonly<Record<string, string>>): HttpRequest => {
    const query = new URLSearchParams(inputs);
    if (tokenIn === 'query') query.set('token', token.reveal());
    return {
      method: 'GET',
      url,
      query: query.toString(),
      headers: getHeaders,
      headersTimeout: timeouts.idle,
    };
  };

  return {
    // The time for the whole upload, `timeouts.upload`, also limits the wait for its reply.
    upload: ({ file, description }) => {
      // The token goes before the file, so that a service that reads in order knows the sender first.
      const body = encodeForm({ token: token.reveal(), description, file: formFile(file, 'text/csv') });
      return {
        method: 'POST',
        url: address('upload'),
        headers: { ...ACCEPT, 'content-type': body.contentType, 'content-length': body.contentLength! },
        body,
      };
    },
    track: (folio) => get(address('track'), { folio }),
    download: (folio, part, fileStatus) =>
      get(address('download'), { folio, part: String(part), fileStatus }),
    search: (record) =>
      legacyAddress && {
        method: 'POST',
        url: legacyAddress('search'),
        headers: { ...ACCEPT, 'content-type': 'application/json' },
        body: JSON.stringify({ ...record, token: token.reveal() }),
        headersTimeout: timeouts.idle,
      },
  };
}

/** The error of a search without an address. */
export function searchAddressMissing(): ConfigError {
  return new ConfigError(
    'CONFIG_LEGACY_URL',
    'service.legacyBaseUrl is not set: a search needs that address',
    { hint: 'write the address of the single-record search into service.legacyBaseUrl' },
  );
}

/** Paths of the interface, section 4. */
const PATHS: Readonly<Record<Operation, string>> = {
  upload: 'naics/naics/external/upload',
  track: 'naics/naics/external/upload/file/info',
  download: 'naics/naics/external/upload/file/download',
  search: 'naics/naics/search/additional/',
};

/**
 * The addresses of the operations. Each call returns the same object, which must not be changed. Plain http:// is
 * allowed to this machine only: rule "The service is not trusted" (docs/architecture.md#the-service-is-not-trusted).
 * @param baseUrl may end with a path and a slash.
 * @param key the config key of `baseUrl`, for the error.
 * @throws ConfigError when it is not a plain http(s) address, or is http:// to another machine.
 */
export function createServiceAddress(baseUrl: string, key: string): (operation: Operation) => URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain =
    base && base.username === '' && base.password === '' && base.search === '' && base.hash === '';
  if (!isPlain || !/^https?:$/.test(base.protocol)) {
    throw new ConfigError('CONFIG_BASE_URL', `${key} is not a plain https:// address`, {
      hint: `write ${key} without user, password, ? and #: the token has a key of its own`,
    });
  }
  if (base.protocol === 'http:' && !isLoopback(base)) {
    throw new ConfigError('CONFIG_INSECURE_URL', `${key} would send the token unencrypted to ${base.host}`, {
      hint: 'use https://; http:// is for localhost only',
      facts: { key, host: base.host },
    });
  }
  const root = base.href.replace(/\/+$/, '');
  const addresses = new Map(
    Object.entries(PATHS).map(([operation, path]) => [operation, new URL(`${root}/${path}`)]),
  );
  return (operation) => addresses.get(operation)!;
}

/** The fields, in order, as a body of multipart/form-data (RFC 7578). Each name occurs once. */
export function encodeForm(fields: Readonly<Record<string, string | FileLike>>): FormDataEncoder {
  return new FormDataEncoder(new Form(Object.entries(fields)));
}

/** The form that the encoder needs. Node's FormData would load a second HTTP client: half of a small command's time. */
class Form extends Map<string, string | FileLike> implements FormDataLike {
  override readonly [Symbol.toStringTag] = 'FormData';

  append(name: string, value: string | FileLike): void {
    this.set(name, value);
  }

  getAll(name: string): (string | FileLike)[] {
    const value = this.get(name);
    return value === undefined ? [] : [value];
  }
}

/** form-data-encoder 4.1 cuts larger pieces itself, and takes wrong bytes if such a piece is a view into a buffer. */
const MAX_PIECE_BYTES = 64 * 1024;

/**
 * A file in the shape that the form's encoder takes. Its stream throws when `open` yields more or fewer bytes than
 * `file.bytes`: the service would wait for missing bytes, or read the surplus as the next field.
 */
export function formFile(file: UploadFile, type: string): FileLike {
  return {
    name: file.name,
    type,
    size: file.bytes,
    lastModified: 0,
    [Symbol.toStringTag]: 'File',
    stream: () => exactly(file.bytes, file.open(), file.name),
  };
}

async function* exactly(
  bytes: Bytes,
  content: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  let given = 0;
  for await (const piece of content) {
    given += piece.length;
    if (given > bytes) break;
    for (let at = 0; at < piece.length; at += MAX_PIECE_BYTES) yield piece.subarray(at, at + MAX_PIECE_BYTES);
  }
  if (given !== bytes) throw new Error(`the content of ${name} does not have ${bytes} bytes`);
}
