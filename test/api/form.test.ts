/** The form that is uploaded, against Node's own reader of multipart/form-data. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeForm, fileOnDisk } from '../../src/api/requests.js';
import { useFolder } from '../helpers/folder.js';

const folder = useFolder();

async function written(form: ReturnType<typeof encodeForm>): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of form) pieces.push(piece);
  return Buffer.concat(pieces);
}

it('holds its fields in order, and as many bytes as it says', async () => {
  const path = join(await folder(), 'chunk.csv');
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
  await fc.assert(
    fc.asyncProperty(line, line, fc.nat(200_000), async (token, description, size) => {
      const bytes = randomBytes(size);
      await writeFile(path, bytes);
      const form = encodeForm({ token, description, file: fileOnDisk(path, 'nä"me.csv', 'text/csv') });
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
  const path = join(await folder(), 'chunk.csv');
  await writeFile(path, randomBytes(300_000));
  const form = encodeForm({ file: fileOnDisk(path, 'chunk.csv', 'text/csv') });
  expect((await written(form)).equals(await written(form))).toBe(true);
});
