/** Where the operations are, and the form that is uploaded, against Node's own reader of multipart/form-data. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createServiceAddress, encodeForm, formFile } from '../../src/api/requests.js';
import { ConfigError } from '../../src/errors.js';
import { uploadFile } from '../helpers/api/test-client.js';

describe('an address', () => {
  test.each([
    ['https://api.example', 'https://api.example/naics/naics/external/upload/file/info'],
    ['https://api.example/', 'https://api.example/naics/naics/external/upload/file/info'],
    ['https://api.example:8443/v1//', 'https://api.example:8443/v1/naics/naics/external/upload/file/info'],
    ['http://127.0.0.1:80', 'http://127.0.0.1/naics/naics/external/upload/file/info'],
    ['http://127.8.7.6:9', 'http://127.8.7.6:9/naics/naics/external/upload/file/info'],
    ['http://localhost:9', 'http://localhost:9/naics/naics/external/upload/file/info'],
    ['http://[::1]:9', 'http://[::1]:9/naics/naics/external/upload/file/info'],
  ])('%s', (baseUrl, expected) => {
    expect(createServiceAddress(baseUrl, 'service.baseUrl')('track').href).toBe(expected);
  });

  test('the search keeps its last slash', () => {
    const address = createServiceAddress('https://old.example', 'service.legacyBaseUrl');
    expect(address('search').pathname).toBe('/naics/naics/search/additional/');
  });

  test.each([
    ['http://api.example', 'CONFIG_INSECURE_URL'],
    ['http://127.evil.example', 'CONFIG_INSECURE_URL'],
    ['http://localhost.example', 'CONFIG_INSECURE_URL'],
    ['http://10.0.0.1', 'CONFIG_INSECURE_URL'],
    ['http://[::2]', 'CONFIG_INSECURE_URL'],
    ['ftp://api.example', 'CONFIG_BASE_URL'],
    ['https://me:pw@api.example', 'CONFIG_BASE_URL'],
    ['https://api.example?token=x', 'CONFIG_BASE_URL'],
    ['https://api.example#x', 'CONFIG_BASE_URL'],
    ['api.example', 'CONFIG_BASE_URL'],
  ])('%s is %s', (baseUrl, code) => {
    const refused = () => createServiceAddress(baseUrl, 'service.baseUrl');
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(expect.objectContaining({ code, message: expect.not.stringContaining('pw') }));
  });
});

describe('the form', () => {
  async function written(form: ReturnType<typeof encodeForm>): Promise<Buffer<ArrayBuffer>> {
    const pieces: Uint8Array[] = [];
    for await (const piece of form) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  it('holds its fields in order, and as many bytes as it says', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
    await fc.assert(
      fc.asyncProperty(line, line, fc.nat(200_000), async (token, description, size) => {
        const bytes = randomBytes(size);
        const form = encodeForm({
          token,
          description,
          file: formFile(uploadFile('nä"me.csv', bytes), 'text/csv'),
        });
        const body = await written(form);
        expect(String(body.length)).toBe(form.contentLength);

        const read = await new Response(body, { headers: { 'content-type': form.contentType } }).formData();
        expect([...read.keys()]).toEqual(['token', 'description', 'file']);
        expect([read.get('token'), read.get('description')]).toEqual([token, description]);
        const file = read.get('file') as File;
        expect([file.name, file.type]).toEqual(['nä"me.csv', 'text/csv']);
        expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('can be sent again', async () => {
    const form = encodeForm({ file: formFile(uploadFile('chunk.csv', randomBytes(300_000)), 'text/csv') });
    expect((await written(form)).equals(await written(form))).toBe(true);
  });

  it('takes a large piece that is a view into a larger buffer', async () => {
    const bytes = randomBytes(300_000).subarray(1000, 250_000);
    const file = {
      name: 'a',
      bytes: bytes.length,
      open: async function* () {
        yield bytes;
      },
    };
    const body = await written(encodeForm({ file: formFile(file, 'text/csv') }));
    expect(body.includes(bytes)).toBe(true);
  });
});
