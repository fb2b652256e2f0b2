/** The client of an S3 store, loaded and connected when it is first used. */
import type { S3Client } from '@aws-sdk/client-s3';
import { parseS3 } from '../../config/sections/output-names.js';
import { ConfigError } from '../../errors.js';
import type { Milliseconds } from '../../types.js';
import { translateError } from './translate-error.js';

/**
 * How a store is reached. What is null is taken from the environment and the profiles of AWS, as credentials always
 * are.
 */
export interface S3Options {
  readonly endpoint: string | null;
  readonly region: string | null;
  /** Whether the bucket is in the path of a request, as most stores other than AWS want it. */
  readonly forcePathStyle: boolean;
  readonly connectMs: Milliseconds;
  /** How long a connection may be silent, and the period in which an object must bring the least rate. */
  readonly idleMs: Milliseconds;
  /** How often a request is made before its error is thrown. */
  readonly attempts?: number | undefined;
  /** Aborts requests. */
  readonly signal?: AbortSignal | undefined;
}

type Sdk = typeof import('@aws-sdk/client-s3');

/** A store that answers requests. */
export interface S3Connection extends Pick<S3Options, 'idleMs'> {
  /**
   * Makes a request; the client repeats it where that helps.
   * @param right the right that it needs, such as `s3:PutObject`.
   * @param onError may give a result in place of an error; if it returns undefined, the error is thrown.
   * @throws the errors of `translateError`; the signal's reason.
   */
  ask<T>(
    name: string,
    right: string,
    request: (client: S3Client, sdk: Sdk, at: AskAt) => Promise<T>,
    onError?: (error: unknown) => { readonly result: T } | undefined,
  ): Promise<T>;
}

/** Where a request goes. */
interface AskAt {
  /** Bucket and key. */
  readonly object: { readonly Bucket: string; readonly Key: string };
  readonly options: { readonly abortSignal?: AbortSignal };
}

/** @throws ConfigError `OUTPUT_DRIVER_MISSING` from the first request on, if the client is not installed. */
export function connect(options: S3Options): S3Connection {
  const { signal, idleMs } = options;
  let opening: Promise<{ readonly sdk: Sdk; readonly client: S3Client }> | undefined;
  const open = async () => {
    const sdk = await importSdk();
    return { sdk, client: createClient(sdk, options) };
  };
  return {
    idleMs,
    ask: async (name, right, request, onError) => {
      signal?.throwIfAborted();
      opening ??= open();
      const { sdk, client } = await opening;
      try {
        const { bucket: Bucket, key: Key } = parseS3(name);
        const sent = signal ? { abortSignal: signal } : {};
        return await request(client, sdk, { object: { Bucket, Key }, options: sent });
      } catch (error) {
        signal?.throwIfAborted();
        const instead = onError?.(error);
        if (instead !== undefined) return instead.result;
        throw translateError(error, { name, right });
      }
    },
  };
}

function createClient({ S3Client }: Sdk, options: S3Options): S3Client {
  const { endpoint, region, forcePathStyle, connectMs, idleMs, attempts = 4 } = options;
  return new S3Client({
    ...(endpoint !== null && { endpoint }),
    ...(region !== null && { region }),
    forcePathStyle,
    maxAttempts: attempts,
    // Each piece goes with its MD5, which every store compares: not all know the checksums that AWS has added since.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, socketTimeout: idleMs },
  });
}

/** Only users who write to such a store install the client. */
async function importSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new ConfigError(
      'OUTPUT_DRIVER_MISSING',
      'an output.path at s3:// needs the package @aws-sdk/client-s3',
      {
        hint: 'npm install @aws-sdk/client-s3',
      },
    );
  }
}
