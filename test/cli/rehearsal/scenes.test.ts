import { access, readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../pipelines/index.js';
import { findScene, plainScene, scenes } from '../../../src/cli/rehearsal/scenes.js';
import { parseFaults } from '../../../src/service/faults/read-faults.js';

const pages = new URL('../../../docs/rehearsals/', import.meta.url);

describe.each(scenes.map((scene) => [scene.name, scene] as const))('%s', (name, scene) => {
  it('has rules that the service understands, wherever the middle is', () => {
    for (const middle of [
      { chunk: 1, time: 0.4 },
      { chunk: 4, time: 312_345.678 },
    ]) {
      expect(() => parseFaults({ rules: scene.rules(middle) })).not.toThrow();
    }
  });
  it('has trouble', () => {
    expect(scene.rules({ chunk: 4, time: 1_000 }).length + (scene.signal === undefined ? 0 : 1)).toBe(1);
  });
  it('has a page', async () => {
    await access(new URL(`${name}.md`, pages));
  });
});

it('every page belongs to a scene', async () => {
  const names = [...scenes.map(({ name }) => `${name}.md`), 'README.md'];
  expect((await readdir(pages)).sort()).toEqual(names.sort());
});

describe('findScene', () => {
  it('finds a scene by its name, and the plain scene without a name', () => {
    for (const scene of scenes) expect(findScene(scene.name)).toBe(scene);
    expect(findScene(true)).toBe(plainScene);
    // The log calls it so.
    expect(findScene('plain')).toBe(plainScene);
  });
  it('lists all scenes when it finds none', () => {
    const caught = (() => {
      try {
        return findScene('nightly.yaml');
      } catch (error) {
        return error;
      }
    })() as ConfigError;
    expect(caught).toBeInstanceOf(ConfigError);
    expect(caught.code).toBe('SCENE_UNKNOWN');
    for (const { name, purpose } of scenes)
      expect(caught.message).toMatch(new RegExp(`  ${name} +${purpose}`));
  });
});
