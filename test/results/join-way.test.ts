import { describe, expect, it } from 'vitest';
import { UntrustedError } from '../../src/errors/index.js';
import { checkJoinWay, joinWayOf } from '../../src/results/join-way.js';
import type { JoinWay } from '../../src/types.js';
import { failed, successful, thrownBy } from '../helpers/result-parts.js';

const sent = { key: 'id', columns: ['name', 'city', 'state'] };

describe('the way of a chunk', () => {
  it('is the key where every part gives it back', () => {
    const parts = [successful('city,code,id\nx,1,1\n'), failed('id,reason\n2,bad\n')];
    expect(joinWayOf(parts, sent)).toEqual({ by: 'key', column: 'id' });
  });

  it('is the sent columns that every part gives back, in the order in which they were sent', () => {
    const parts = [successful('city,code,id,name\nx,1,1,y\n'), failed('reason,city,name,state\nbad,a,b,c\n')];
    expect(joinWayOf(parts, sent)).toEqual({ by: 'echo', columns: ['name', 'city'] });
  });

  it('is the columns where no key was sent, whatever comes back under its name', () => {
    const parts = [successful('id,name\n1,y\n')];
    expect(joinWayOf(parts, { ...sent, key: null })).toEqual({ by: 'echo', columns: ['name'] });
  });

  it('does not ask parts that hold nothing', () => {
    const parts = [successful('id,code\n1,1\n'), failed(''), failed('reason\n', 1)];
    expect(joinWayOf(parts, sent)).toEqual({ by: 'key', column: 'id' });
  });

  it('is none where nothing that was sent comes back: never by position', () => {
    const error = thrownBy(() => joinWayOf([successful('ID,Name\n1,y\n')], sent));
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({ code: 'JOIN_IMPOSSIBLE' });
  });
});

describe('a later chunk', () => {
  const key: JoinWay = { by: 'key', column: 'id' };
  const two: JoinWay = { by: 'echo', columns: ['name', 'city'] };
  const three: JoinWay = { by: 'echo', columns: ['name', 'city', 'state'] };

  it.each<[string, JoinWay, JoinWay]>([
    ['the same key', key, key],
    ['a key after columns', two, key],
    ['the same columns', two, two],
    ['more columns', two, three],
  ])('may have %s', (_, fixed, found) => {
    checkJoinWay(fixed, found);
  });

  it.each<[string, JoinWay, JoinWay]>([
    ['columns after a key', key, three],
    ['fewer columns', three, two],
    ['other columns', two, { by: 'echo', columns: ['name', 'state'] }],
  ])('may not have %s', (_, fixed, found) => {
    expect(thrownBy(() => checkJoinWay(fixed, found))).toMatchObject({ code: 'JOIN_WEAKER', exitCode: 6 });
  });
});
