/** The requests of the four operations (interface, section 4): where each input is placed. */
import type { FileStatus, Milliseconds } from '../types.js';
import { fileOnDisk } from './file-on-disk.js';
import { encodeForm } from './form.js';
import type { SearchRecord, UploadRequest } from './prediction-api.js';
import type { HttpRequest } from './send-request.js';
import { createServiceAddress } from './service-address.js';
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
