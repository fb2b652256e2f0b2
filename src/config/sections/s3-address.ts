/** Addresses of objects in S3, and in other stores with its interface: `s3://bucket/key`. */

export interface S3Address {
  readonly bucket: string;
  readonly key: string;
}

const SCHEME = 's3://';

/** Whether a name is an address in S3, and not a path. */
export function isS3(name: string): boolean {
  return name.startsWith(SCHEME);
}

/** @param name an address, as `isS3` says. */
export function parseS3(name: string): S3Address {
  const [bucket = '', ...key] = name.slice(SCHEME.length).split('/');
  return { bucket, key: key.join('/') };
}

/** Why no object can have this address; undefined if one can. */
export function s3Problem(name: string): string | undefined {
  const { bucket, key } = parseS3(name);
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    return 'needs a bucket of 3 to 63 lower-case letters, digits, dots and dashes: s3://bucket/key';
  }
  if (key === '') return 'names a bucket; write a key too: s3://bucket/key';
  if (/\p{Cc}/u.test(key)) return 'has a control character in its key';
  const hasOddPart = key.split('/').some((part) => part === '' || part === '.' || part === '..');
  return hasOddPart ? 'has an empty name, . or .. in its key' : undefined;
}
