/** The requests of the four operations (interface, section 4): where each input is placed. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { type FileLike, FormDataEncoder, type FormDataLike } from 'form-data-encoder';
import { ConfigError } from '../errors.js';
import type { FileStatus, Milliseconds } from '../types.js';
import type { Operation } from './failure.js';
import type { SearchRecord, UploadRequest } from './prediction-api.js';
import type { HttpRequest } from './send-request.js';
import type { TokenSecret } from './service-text.js';

export interface RequestsOptions {
  readonly baseUrl: string;
  readonly legacyBaseUrl: string | null;
  readonly token: TokenSecret;
  readonly tokenIn: 'query' | 'header';
  readonly timeouts: { readonly idle: Milliseconds; readonly upload: Milliseconds };
}

export interface Requests {
  /** The file is read from disk while it is sent; one that cannot be opened fails here. */
  upload(upload: UploadRequest): HttpRequest;
  track(folio: string): HttpRequest;
  download(folio: string, part: number, fileStatus: FileStatus): HttpRequest;
  /** Undefined where the search has no address. */
  search(record: SearchRecord): HttpRequest | undefined;
}

const ACCEPT = { accept: 'application/json' };

/** @throws ConfigError when an address is none, or http:// and not on this machine. */
export function createRequests(options: RequestsOptions): Requests {
  const { token, tokenIn, timeouts } = options;
  const address = createServiceAddress(options.baseUrl, 'service.baseUrl');
  const legacyAddress =
    options.legacyBaseUrl === null
      ? undefined
      : createServiceAddress(options.legacyBaseUrl, 'service.legacyBaseUrl');

  const get = (url: URL, inputs: Readonly<Record<string, string>>): HttpRequest => {
    const query = new URLSearchParams(inputs);
    if (tokenIn === 'query') query.set('token', token.reveal());
    url.search = query.toString();
    const headers = tokenIn === 'header' ? { ...ACCEPT, token: token.reveal() } : ACCEPT;
    return { method: 'GET', url, headers, headersTimeout: timeouts.idle };
  };

  return {
    upload: (upload) => {
      const body = encodeForm({
        // Before the file, so that a service which reads in order knows at once who sends it.
        token: token.reveal(),
        description: upload.description,
        file: fileOnDisk(upload.path, upload.fileName, 'text/csv'),
      });
      return {
        method: 'POST',
        url: address('upload'),
        headers: { ...ACCEPT, 'content-type': body.contentType, 'content-length': body.contentLength! },
        body,
        headersTimeout: timeouts.upload,
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

// * A form as its encoder takes one, each name once. Node's own FormData would load a second HTTP client: half of what
// a small command takes.

/** The fields, in order, as a body of multipart/form-data (RFC 7578). */
export function encodeForm(fields: Readonly<Record<string, string | FileLike>>): FormDataEncoder {
  return new FormDataEncoder(new Form(Object.entries(fields)));
}

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

// A file of the disk as a form's encoder takes one, read while it is sent.

/** Read at once: that takes less than waiting for another thread. The encoder would copy what is larger. */
const PIECE_BYTES = 64 * 1024;

/** @throws the system's error when there is no such file. */
export function fileOnDisk(path: string, name: string, type: string): FileLike {
  const { size } = statSync(path);
  return {
    name,
    type,
    size,
    lastModified: 0,
    [Symbol.toStringTag]: 'File',
    stream: () => readPieces(path, size),
  };
}

/**
 * Each piece has memory of its own: when it has been sent nobody tells.
 * @throws when the file has become shorter.
 */
async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = openSync(path, 'r');
  try {
    for (let at = 0; at < size; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size - at));
      const length = readSync(file, piece, 0, piece.length, at);
      if (length === 0) throw new Error(`${path} is shorter than it was`);
      yield piece.subarray(0, length);
      at += length;
    }
  } finally {
    closeSync(file);
  }
}

// The addresses of the four operations. Plain http:// leads to this machine only (law 10).

/** Paths of the interface, section 4. */
const PATHS: Readonly<Record<Operation, string>> = {
  upload: 'naics/naics/external/upload',
  track: 'naics/naics/external/upload/file/info',
  download: 'naics/naics/external/upload/file/download',
  search: 'naics/naics/search/additional/',
};

/**
 * @param baseUrl may end with a path and a slash.
 * @param key the config key that `baseUrl` comes from, for the error.
 * @throws ConfigError when it is no plain http(s) address, or http:// to another machine.
 */
export function createServiceAddress(baseUrl: string, key: string): (operation: Operation) => URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain =
    base && base.username === '' && base.password === '' && base.search === '' && base.hash === '';
  if (!isPlain || !/^https?:$/.test(base.protocol)) {
    throw new ConfigError('CONFIG_BASE_URL', `${key} is no plain https:// address`, {
      hint: `write ${key} without user, password, ? and #: the token has a key of its own`,
    });
  }
  if (base.protocol === 'http:' && !isLoopback(base)) {
    throw new ConfigError('CONFIG_INSECURE_URL', `${key} would send the token unencrypted to ${base.host}`, {
      hint: 'use https://; http:// is for localhost only',
      facts: { key, host: base.host },
    });
  }
  return (operation) => new URL(`${base.href.replace(/\/+$/, '')}/${PATHS[operation]}`);
}

/** Whether an address leads to this machine and nowhere else. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}
