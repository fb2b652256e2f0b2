import { describe, expect, it } from 'vitest';
import { checkEchoes, checkJoinMethod, returnedColumns } from '../../src/results/join-method.js';
import type { ColumnKinds, JoinMethod } from '../../src/types.js';
import { failed, successful, thrownBy } from '../helpers/csv/result-parts.js';

const sent = { key: 'id', columns: ['name', 'city', 'state'] };

describe('what a chunk returns', () => {
  it('is what every part returns, in the order in which it was sent', () => {
    const parts = [successful('city,code,id,name\nx,1,1,y\n'), failed('reason,city,name,state\nbad,a,b,c\n')];
    expect(returnedColumns(parts, sent)).toEqual({ key: false, columns: ['name', 'city'] });
    expect(returnedColumns(parts.slice(0, 1), sent)).toEqual({ key: true, columns: ['name', 'city'] });
  });

  it('has no key where none was sent, even if a column has its name', () => {
    const parts = [successful('id,name\n1,y\n')];
    expect(returnedColumns(parts, { ...sent, key: null })).toEqual({ key: false, columns: ['name'] });
  });

  it('ignores parts without results', () => {
    const parts = [successful('id,code\n1,1\n'), failed(''), failed('reason\n', 1)];
    expect(returnedColumns(parts, sent)).toEqual({ key: true, columns: [] });
  });
});

describe('a later chunk', () => {
  const key: JoinMethod = { by: 'key', column: 'id', judged: null };
  const two: JoinMethod = { by: 'echo', columns: ['name', 'city'], judged: null };

  it.each([
    ['the same key', key, { key: true, columns: [] }],
    ['a key after columns', two, { key: true, columns: [] }],
    ['the same columns', two, { key: false, columns: ['name', 'city'] }],
    ['more columns', two, { key: false, columns: ['name', 'city', 'state'] }],
  ])('may have %s', (_, fixed, found) => {
    checkJoinMethod(fixed, found);
  });

  it.each([
    ['columns after a key', key, { key: false, columns: ['name', 'city', 'state'] }],
    ['fewer columns', two, { key: false, columns: ['name'] }],
    ['other columns', two, { key: false, columns: ['name', 'state'] }],
    ['nothing', two, { key: false, columns: [] }],
  ])('may not have %s', (_, fixed, found) => {
    expect(thrownBy(() => checkJoinMethod(fixed, found))).toMatchObject({ code: 'JOIN_WEAKER', exitCode: 6 });
  });
});

describe('an echo', () => {
  const judgedAs = (SUCCESSFUL: ColumnKinds, FAILED: ColumnKinds = {}): JoinMethod => ({
    by: 'key',
    column: 'id',
    judged: { kinds: { SUCCESSFUL, FAILED }, isProven: true, declared: null },
  });

  it('comes back in every later part of its status, also beside the key', () => {
    const method = judgedAs({ name: 'exact', city: 'answer' });
    checkEchoes(method, [successful('id,name,code\n1,x,1\n'), failed('id,reason\n2,bad\n')]);
    const gone = thrownBy(() => checkEchoes(method, [successful('id,code\n1,1\n')]));
    expect(gone).toMatchObject({ code: 'JOIN_WEAKER', message: expect.stringContaining('without name') });
    checkEchoes(method, [successful('id,code\n')]);
  });

  it('of failed parts has to come back in failed parts', () => {
    const method = judgedAs({}, { name: 'folded' });
    checkEchoes(method, [successful('id,code\n1,1\n')]);
    const gone = thrownBy(() => checkEchoes(method, [failed('id,reason\n2,bad\n')]));
    expect(gone).toMatchObject({ code: 'JOIN_WEAKER' });
  });

  it('is unknown in a run from before version 0.1.0', () => {
    checkEchoes({ by: 'key', column: 'id', judged: null }, [successful('id\n1\n')]);
  });
});
