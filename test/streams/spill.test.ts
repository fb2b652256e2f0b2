import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Spill } from '../../src/streams/spill.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

it.each([
  ['in memory', 1000],
  ['in a file', 0],
  ['in a file from the third piece on', 8],
])('gives back what was appended, %s', async (_, maxKeptBytes) => {
  const spill = new Spill(await folder(), maxKeptBytes);
  const pieces = ['one', 'three', 'five', 'x'.repeat(100)];
  const positions = pieces.map((piece) => {
    const bytes = Buffer.from(piece);
    const position = spill.append(bytes);
    bytes.fill(0);
    return position;
  });
  const found = positions.map((position, at) => {
    const into = Buffer.alloc(pieces[at]!.length);
    spill.read(position, into);
    return into.toString();
  });
  expect(found).toEqual(pieces);
  expect(await readdir(await folder())).toEqual([]);
  spill.close();
});

it('uses the folder of the system if its own does not exist', async () => {
  const spill = new Spill(join(await folder(), 'none'), 0);
  const into = Buffer.alloc(1);
  spill.read(spill.append(Buffer.from('a')), into);
  expect(into.toString()).toBe('a');
  spill.close();
});
