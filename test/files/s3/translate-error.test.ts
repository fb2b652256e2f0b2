import { describe, expect, it } from 'vitest';
import { isMissing, isUnavailable, translateError } from '../../../src/files/s3/translate-error.js';

const request = { name: 's3://bucket/out.csv', right: 's3:PutObject' };

interface Facts {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** Of the reply: 0 if none has come. */
  readonly status?: number;
  /** The same for a reply that is no XML. */
  readonly raw?: number;
}

/** An error of the client. */
const fail = ({ status, raw, message = 'any text', ...rest }: Facts) => {
  return Object.assign(new Error(message), rest, {
    ...(status !== undefined && { $metadata: { ...(status > 0 && { httpStatusCode: status }) } }),
    ...(raw && { $response: { statusCode: raw } }),
  });
};

describe('an error of an S3 store', () => {
  it.each([
    [{ message: 'Region is missing' }, 'OUTPUT_REGION_MISSING', 2],
    [{ name: 'NoSuchBucket', status: 404 }, 'OUTPUT_BUCKET_MISSING', 2],
    [{ name: 'PermanentRedirect', status: 400 }, 'OUTPUT_BUCKET_ELSEWHERE', 2],
    // The reply to a HEAD has no code.
    [{ name: 'UnknownError', status: 301 }, 'OUTPUT_BUCKET_ELSEWHERE', 2],
    [{ name: 'UnknownError', status: 307 }, 'OUTPUT_BUCKET_ELSEWHERE', 2],
    [{ name: 'UnknownError', status: 401 }, 'OUTPUT_DENIED', 7],
    [{ name: 'UnknownError', status: 403 }, 'OUTPUT_DENIED', 7],
    [{ name: 'CredentialsProviderError' }, 'OUTPUT_DENIED', 7],
    [{ name: 'RequestTimeTooSkewed', status: 400 }, 'OUTPUT_DENIED', 7],
    [{ name: 'RequestTimeout', status: 400 }, 'OUTPUT_STORE_DOWN', 5],
    [{ name: 'UnknownError', status: 408 }, 'OUTPUT_STORE_DOWN', 5],
    [{ name: 'UnknownError', status: 409 }, 'OUTPUT_STORE_DOWN', 5],
    [{ name: 'UnknownError', status: 429 }, 'OUTPUT_STORE_DOWN', 5],
    [{ name: 'UnknownError', status: 500 }, 'OUTPUT_STORE_DOWN', 5],
    [{ raw: 502 }, 'OUTPUT_STORE_DOWN', 5],
    [{ name: 'TimeoutError' }, 'OUTPUT_STORE_DOWN', 5],
    [{ code: 'ECONNREFUSED' }, 'OUTPUT_STORE_DOWN', 5],
    [{ code: 'EAI_AGAIN' }, 'OUTPUT_STORE_DOWN', 5],
    [{ code: 'CERT_HAS_EXPIRED' }, 'OUTPUT_STORE_REFUSED', 2],
    [{ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', status: 0 }, 'OUTPUT_STORE_REFUSED', 2],
    // A code that looks like one of the network, with the reply of a store, is a refusal.
    [{ code: 'ECONNREFUSED', status: 400 }, 'OUTPUT_STORE_REFUSED', 2],
    [{ name: 'EntityTooSmall', status: 400 }, 'OUTPUT_STORE_REFUSED', 2],
    [{ raw: 200 }, 'OUTPUT_STORE_REFUSED', 2],
  ])('%j: %s, exit %i', (facts, code, exitCode) => {
    expect(translateError(fail(facts), request)).toMatchObject({ code, exitCode, hint: expect.any(String) });
  });

  it.each<[string, Facts]>([
    ['an address that is none', { name: 'TypeError', code: 'ERR_INVALID_URL', message: 'Invalid URL' }],
    [
      'an address of another kind',
      { name: 'EndpointError', message: 'Custom endpoint `http://u:pw@h` was not' },
    ],
    [
      'a region that is no name',
      { message: 'Region not accepted: region="us east" is not a valid hostname' },
    ],
  ])('of the variables of AWS is no bug: %s', (_, facts) => {
    expect(translateError(fail(facts), request)).toMatchObject({
      code: 'OUTPUT_STORE_REFUSED',
      exitCode: 2,
      message: expect.not.stringContaining('pw'),
      hint: expect.stringContaining('AWS_ENDPOINT_URL'),
    });
  });

  it('names the host that is not found', () => {
    const error = Object.assign(fail({ code: 'ENOTFOUND' }), { hostname: 's3.us-east-1.amazonaws.com' });
    expect(translateError(error, request)).toMatchObject({
      message: expect.stringContaining('(ENOTFOUND s3.us-east-1.amazonaws.com)'),
    });
  });

  it.each([
    ['ExpiredToken', 400, 'renew the credentials'],
    ['RequestTimeTooSkewed', 403, 'clock of this machine'],
    ['AccessDenied', 403, 'give them this right'],
  ])('%s says what helps', (name, status, hint) => {
    expect(translateError(fail({ name, status }), request)).toMatchObject({
      hint: expect.stringContaining(hint),
    });
  });

  it('is left as it is if it is not one of the store', () => {
    const other = new TypeError('a bug');
    expect(translateError(other, request)).toBe(other);
    expect(translateError('thrown', request)).toBe('thrown');
  });

  it('says whether something is missing, or cannot be asked for', () => {
    const all = [
      { name: 'NotFound' },
      { name: 'NoSuchKey' },
      { name: 'NoSuchUpload' },
      { name: 'UnknownError', status: 404 },
      { name: 'NoSuchBucket', status: 404 },
      { name: 'AccessDenied', status: 403 },
      { name: 'MethodNotAllowed', status: 405 },
      { name: 'NotImplemented' },
      { name: 'UnknownError', status: 501 },
      { name: 'SlowDown', status: 503 },
    ].map(fail);
    expect(all.map(isMissing)).toEqual([true, true, true, true, ...Array(6).fill(false)]);
    expect(all.map(isUnavailable)).toEqual([...Array(5).fill(false), true, true, true, true, false]);
  });
});
