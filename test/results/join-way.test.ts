import { describe, expect, it } from 'vitest';
import { checkEchoes, checkJoinWay, givenBack } from '../../src/results/join-way.js';
import type { ColumnKinds, JoinWay } from '../../src/types.js';
import { failed, successful, thrownBy } from '../helpers/csv/result-parts.js';

const sent = { key: 'id', columns: ['name', 'city', 'state'] };

describe('what a chunk gives back', () => {
  it('is what every part gives back, in the order in which it was sent', () => {
    const parts = [successful('city,code,id,name\nx,1,1,y\n'), failed('reason,city,name,state\nbad,a,b,c\n')];
    expect(givenBack(parts, sent)).toEqual({ key: false, columns: ['name', 'city'] });
    expect(givenBack(parts.slice(0, 1), sent)).toEqual({ key: true, columns: ['name', 'city'] });
  });

  it('is no key where none was sent, whatever comes back under its name', () => {
    const parts = [successful('id,name\n1,y\n')];
    expect(givenBack(parts, { ...sent, key: null })).toEqual({ key: false, columns: ['name'] });
  });

  it('does not ask parts that hold nothing', () => {
    const parts = [successful('id,code\n1,1\n'), failed(''), failed('reason\n', 1)];
    expect(givenBack(parts, sent)).toEqual({ key: true, columns: [] });
  });
});

describe('a later chunk', () => {
  const key: JoinWay = { by: 'key', column: 'id', judged: null };
  const two: JoinWay = { by: 'echo', columns: ['name', 'city'], judged: null };

  it.each([
    ['the same key', key, { key: true, columns: [] }],
    ['a key after columns', two, { key: true, columns: [] }],
    ['the same columns', two, { key: false, columns: ['name', 'city'] }],
    ['more columns', two, { key: false, columns: ['name', 'city', 'state'] }],
  ])('may have %s', (_, fixed, found) => {
    checkJoinWay(fixed, found);
  });

  it.each([
    ['columns after a key', key, { key: false, columns: ['name', 'city', 'state'] }],
    ['fewer columns', two, { key: false, columns: ['name'] }],
    ['other columns', two, { key: false, columns: ['name', 'state'] }],
    ['nothing', two, { key: false, columns: [] }],
  ])('may not have %s', (_, fixed, found) => {
    expect(thrownBy(() => checkJoinWay(fixed, found))).toMatchObject({ code: 'JOIN_WEAKER', exitCode: 6 });
  });
});

describe('an echo', () => {
  const judgedAs = (SUCCESSFUL: ColumnKinds, FAILED: ColumnKinds = {}): JoinWay => ({
    by: 'key',
    column: 'id',
    judged: { kinds: { SUCCESSFUL, FAILED }, isProven: true, declared: null },
  });

  it('comes back in every later part of its kind, also beside the key', () => {
    const way = judgedAs({ name: 'exact', city: 'answer' });
    checkEchoes(way, [successful('id,name,code\n1,x,1\n'), failed('id,reason\n2,bad\n')]);
    const gone = thrownBy(() => checkEchoes(way, [successful('id,code\n1,1\n')]));
    expect(gone).toMatchObject({ code: 'JOIN_WEAKER', message: expect.stringContaining('without name') });
    checkEchoes(way, [successful('id,code\n')]);
  });

  it('of failed parts is one of theirs', () => {
    const way = judgedAs({}, { name: 'folded' });
    checkEchoes(way, [successful('id,code\n1,1\n')]);
    const gone = thrownBy(() => checkEchoes(way, [failed('id,reason\n2,bad\n')]));
    expect(gone).toMatchObject({ code: 'JOIN_WEAKER' });
  });

  it('was not known to the first version', () => {
    checkEchoes({ by: 'key', column: 'id', judged: null }, [successful('id\n1\n')]);
  });
});
