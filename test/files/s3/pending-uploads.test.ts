/** Lists that a store gives in several pages, or does not give. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connect, type S3Connection } from '../../../src/files/s3/connect.js';
import { abortListed, beginUpload, partsOf } from '../../../src/files/s3/pending-uploads.js';
import { sendPart } from '../../../src/files/s3/upload-parts.js';
import { openS3Server, type S3Server, s3Options } from '../../helpers/s3/s3-server.js';

let server: S3Server;
let store: S3Connection;
let name: string;

beforeEach(async () => {
  server = await openS3Server();
  store = connect(s3Options(server));
  name = `s3://${server.bucket}/out.csv`;
});
afterEach(async () => {
  await server.close();
});

/** The first answers to such a request are these pages, after which more follow; the next ones are those of the store. */
function withFirstPages(what: string, ...pages: string[]): void {
  server.before = (request) => {
    const body = request.what === what ? pages.shift() : undefined;
    return body === undefined ? undefined : { status: 200, code: '', body };
  };
}

const asked = (what: string, parameter: string) =>
  server.seen.filter((request) => request.what === what).map(({ query }) => query.get(parameter));

it('uploads on later pages are given up too, also if all pages are of one name', async () => {
  await beginUpload(store, name, '');
  const pages = ['u1', 'u2'].map(
    (id) =>
      `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>out.csv</NextKeyMarker><NextUploadIdMarker>${id}</NextUploadIdMarker></ListMultipartUploadsResult>`,
  );
  withFirstPages('GET uploads', ...pages);
  await abortListed(store, name);
  expect(asked('GET uploads', 'prefix')).toEqual(['out.csv', 'out.csv', 'out.csv']);
  expect(asked('GET uploads', 'key-marker')).toEqual([null, 'out.csv', 'out.csv']);
  expect(asked('GET uploads', 'upload-id-marker')).toEqual([null, 'u1', 'u2']);
  expect(await server.uploads()).toEqual({});
});

it('parts on a later page are found too', async () => {
  const uploadId = await beginUpload(store, name, '');
  const piece = Buffer.from('content');
  const md5 = createHash('md5').update(piece).digest();
  await sendPart(store, name, uploadId, 2, piece, md5);
  withFirstPages(
    'GET parts',
    '<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker><Part><PartNumber>1</PartNumber><ETag>"a"</ETag><Size>5</Size></Part></ListPartsResult>',
  );
  expect([...(await partsOf(store, name, uploadId))!]).toEqual([
    [1, { etag: '"a"', bytes: 5 }],
    [2, { etag: `"${md5.toString('hex')}"`, bytes: piece.length }],
  ]);
  expect(asked('GET parts', 'part-number-marker')).toEqual(['0', '1']);
});

it('a list that cannot be read now is passing trouble', async () => {
  server.before = () => ({ status: 500, code: 'InternalError' });
  const trouble = { code: 'OUTPUT_STORE_DOWN', exitCode: 5 };
  await expect(abortListed(store, name)).rejects.toMatchObject(trouble);
  await expect(partsOf(store, name, 'u1')).rejects.toMatchObject(trouble);
});
