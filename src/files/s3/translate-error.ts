/** Errors of the S3 client as errors that say what to do. Text of a store is never shown unchanged. */
import { ConfigError, type ErrorDetails, RefusedError, TroubleError } from '../../errors.js';

/** What was asked of the store. */
interface S3Request {
  /** The name that it was about, `s3://bucket/key`. */
  readonly name: string;
  /** The right that it needs, such as `s3:PutObject`. */
  readonly right: string;
}

/** What helps against some of the codes of a refusal, in place of a right. */
const DENIED_HINTS: ReadonlyMap<string, string> = new Map([
  [
    'CredentialsProviderError',
    'no credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in again (aws sso login)',
  ],
  ...['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired'].map(
    (code) => [code, 'renew the credentials, which have expired (aws sts get-caller-identity)'] as const,
  ),
  ['RequestTimeTooSkewed', 'correct the clock of this machine (date -u)'],
]);

const OTHER_DENIED_HINT =
  'check the credentials (aws sts get-caller-identity) and give them this right (docs/output-places.md)';

/** Codes for requests that are refused whatever the bucket is. */
const DENIED: ReadonlySet<string> = new Set([
  'AccessDenied',
  'AccountProblem',
  'AllAccessDisabled',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidToken',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
  'TokenProviderError',
  'TokenRefreshRequired',
]);

/** Codes of a store in which the bucket is in another region. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'PermanentRedirect',
]);

const GO_ON = 'then run the same command again: nothing is paid again';

/**
 * @returns RefusedError `OUTPUT_DENIED`; ConfigError `OUTPUT_BUCKET_MISSING`, `OUTPUT_BUCKET_ELSEWHERE`,
 *   `OUTPUT_REGION_MISSING`, `OUTPUT_STORE_REFUSED`; TroubleError `OUTPUT_STORE_DOWN`.
 */
export function translateError(error: unknown, { name, right }: S3Request): unknown {
  const { code, status } = factsOf(error);
  const details = (hint: string): ErrorDetails => ({
    hint,
    facts: { path: name, reason: code, status: status ?? null },
    cause: error,
  });
  const reply = code === '' ? `status ${status}` : code;
  if (error instanceof Error && /^Region is missing/i.test(error.message)) {
    return new ConfigError('OUTPUT_REGION_MISSING', `${name}: the region of the bucket is not known`, {
      ...details(`set output.s3.region, or AWS_REGION; ${GO_ON}`),
    });
  }
  if (isMisaddressed(error)) {
    return new ConfigError(
      'OUTPUT_STORE_REFUSED',
      `${name}: the address or the region of the store is malformed`,
      details(
        `correct AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_REGION, or unset them and write output.s3; ${GO_ON}`,
      ),
    );
  }
  if (code === 'NoSuchBucket') {
    return new ConfigError(
      'OUTPUT_BUCKET_MISSING',
      `${name}: there is no such bucket`,
      details(`create the bucket, or correct output.path or output.s3.endpoint, ${GO_ON}`),
    );
  }
  if (ELSEWHERE.has(code) || status === 301 || status === 307) {
    return new ConfigError(
      'OUTPUT_BUCKET_ELSEWHERE',
      `${name}: the bucket is in another region (${reply})`,
      details(`set output.s3.region to the region of the bucket, ${GO_ON}`),
    );
  }
  if (DENIED.has(code) || status === 401 || status === 403) {
    return new RefusedError(
      'OUTPUT_DENIED',
      `${name}: the store refuses ${right} (${reply})`,
      details(`${DENIED_HINTS.get(code) ?? OTHER_DENIED_HINT}, ${GO_ON}`),
    );
  }
  if (isPassing(error, code, status)) {
    const { hostname } = error as { readonly hostname?: string };
    const host = hostname === undefined ? '' : ` ${hostname}`;
    return new TroubleError(
      'OUTPUT_STORE_DOWN',
      `${name}: the store does not answer ${right} (${reply}${host})`,
      details(
        'run the same command again later: nothing is paid again; if it never answers, check output.s3',
      ),
    );
  }
  if (status === undefined && !isFault(error)) return error;
  return new ConfigError(
    'OUTPUT_STORE_REFUSED',
    `${name}: the store refuses ${right} (${reply})`,
    details(`check output.path and output.s3, ${GO_ON}`),
  );
}

/** Whether the client cannot make an address of the variables and profiles of AWS. */
function isMisaddressed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isAddress = error.name === 'EndpointError' || ('code' in error && error.code === 'ERR_INVALID_URL');
  return isAddress || error.message.startsWith('Region not accepted');
}

/** Whether the store has no object of this name, or no such upload. */
export function isMissing(error: unknown): boolean {
  const { code, status } = factsOf(error);
  if (code === 'NoSuchBucket') return false;
  return status === 404 || code === 'NotFound' || code === 'NoSuchKey' || code === 'NoSuchUpload';
}

/** Whether the store does not know this request, or these credentials may not make it. */
export function isUnavailable(error: unknown): boolean {
  const { code, status } = factsOf(error);
  return status === 403 || status === 405 || status === 501 || code === 'NotImplemented';
}

function factsOf(error: unknown): { readonly code: string; readonly status: number | undefined } {
  if (!(error instanceof Error)) return { code: '', status: undefined };
  // A reply that is no XML, such as a proxy's, gives an error with only `$response`.
  const { code, $metadata, $response } = error as Error & {
    readonly code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly $response?: { readonly statusCode?: number };
  };
  const named = typeof code === 'string' ? code : error.name;
  // A name that is no code may be any text of the store, or the client's name for a reply without a code.
  const isCode = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(named) && !/^(?:Unknown)?(?:Error)?$/.test(named);
  return { code: isCode ? named : '', status: $metadata?.httpStatusCode ?? $response?.statusCode };
}

const PASSING: ReadonlySet<string> = new Set([
  'BadDigest',
  'IncompleteBody',
  'InternalError',
  // A part is gone or has another tag: the next run sends the parts that differ again.
  'InvalidPart',
  // Somebody has given up the upload: the next run begins it again.
  'NoSuchUpload',
  'OperationAborted',
  'REPLY_TOO_SLOW',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'TimeoutError',
]);

function isPassing(error: unknown, code: string, status: number | undefined): boolean {
  if (PASSING.has(code) || status === 408 || status === 409 || status === 429) return true;
  if (status !== undefined) return status >= 500;
  return error instanceof Error && /^E(?:CONN|NOTFOUND|AI_AGAIN|HOST|NET|PIPE|TIMEDOUT|PROTO)/.test(code);
}

/** An error of the client without a status of the store: a certificate, or a reply that is no XML. */
function isFault(error: unknown): boolean {
  return error instanceof Error && ('$metadata' in error || /CERT|SSL|TLS/.test(factsOf(error).code));
}
