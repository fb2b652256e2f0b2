/** Where commands of a fleet find the state: they read few keys of a config. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readStatePlace, readWrittenState } from '../../src/config/state-place.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function read(yaml: string, overrides: Parameters<typeof readWrittenState>[0]['overrides'] = []) {
  const file = join(await folder(), 'nightly.yaml');
  await writeFile(file, yaml);
  return readWrittenState({ files: [file], env: {}, overrides, cwd: await folder() });
}

it('null means that a folder is not set, as in the example of a config', async () => {
  const { state, scratchDir } = await read('state: postgres://u@h/d\nscratchDir: null\n');
  expect(String(state)).toBe('postgres://h/d');
  expect(scratchDir).toBe(join(await folder(), '.foliopipe'));
  expect(await read('state: null\nscratchDir: own\n')).toEqual({
    state: null,
    scratchDir: join(await folder(), 'own'),
  });
});

it.each(['postgres://u:half%@h/d', 'postgres://u:%zz@h/d', 'postgres://h/d?password=%25'])(
  'a password with a percent sign is refused in a flag like every other one: %s',
  async (address) => {
    const flag = { key: 'state', value: address, baseDir: '/', origin: '--set' };
    await expect(read('', [flag])).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('a password in a flag can be read by every user'),
    });
    const place = { flag: '--to', env: {}, cwd: '/', files: 'postgres', scratchDir: '/s' };
    expect(() => readStatePlace(address, place)).toThrow('a password in a flag can be read by every user');
  },
);

it('a reference to a variable shows no password', async () => {
  for (const value of [`postgres://u:\${PASSWORD}@h/d`, `postgres://h/d?password=\${PASSWORD}`]) {
    const place = { flag: '--to', env: { PASSWORD: 'x' }, cwd: '/', files: 'postgres', scratchDir: '/s' };
    expect(readStatePlace(value, place).state?.reveal()).toContain('x');
  }
});
