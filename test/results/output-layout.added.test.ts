import { describe, expect, it } from 'vitest';
import { addedColumns, checkAddedColumns } from '../../src/results/output-layout.js';
import { successful, thrownBy } from '../helpers/csv/result-parts.js';

const sent = { key: 'id', columns: ['name', 'city'] };
const part = successful('code,city,id,title,name\n1,x,1,t,y\n');

describe('added columns', () => {
  it('are those that were not sent, in the order of the part', () => {
    expect(addedColumns(part, sent, {})).toEqual(['code', 'title']);
    expect(addedColumns(part, { ...sent, key: null }, {})).toEqual(['code', 'id', 'title']);
  });

  it('are sent ones too, where the service answers in them', () => {
    expect(addedColumns(part, sent, { name: 'folded', city: 'answer' })).toEqual(['code', 'city', 'title']);
    checkAddedColumns(part, sent, { city: 'answer' }, ['code', 'title', 'city'], 'fail');
    const changed = thrownBy(() =>
      checkAddedColumns(part, sent, { city: 'answer' }, ['code', 'title'], 'fail'),
    );
    expect(changed).toMatchObject({ message: expect.stringContaining('unknown so far: "city"') });
  });

  it('may come in any order, and without what was sent', () => {
    checkAddedColumns(part, sent, {}, ['title', 'code'], 'fail');
    checkAddedColumns(successful('title,code\nt,1\n'), sent, {}, ['code', 'title'], 'fail');
  });

  it.each([
    [['code'], 'unknown so far: "title"'],
    [['code', 'title', 'score'], 'missing: "score"'],
    [['code', 'score'], 'missing: "score"; unknown so far: "title"'],
  ])('that are not %j stop the run under fail', (columns, message) => {
    expect(thrownBy(() => checkAddedColumns(part, sent, {}, columns, 'fail'))).toMatchObject({
      code: 'COLUMNS_CHANGED',
      exitCode: 6,
      message: expect.stringContaining(message),
    });
    expect(checkAddedColumns(part, sent, {}, columns, 'ignore')).toBeUndefined();
  });

  it('whose names are many and long are named in a short message', () => {
    const names = Array.from({ length: 500 }, (_, at) => `c${at}${'x'.repeat(1_000)}`);
    const wide = successful(`${names.join(',')}\n${','.repeat(names.length - 1)}\n`);
    const { message } = thrownBy(() => checkAddedColumns(wide, sent, {}, ['code'], 'fail')) as Error;
    expect(message).toContain('missing: "code"; unknown so far: "c0xxx');
    expect(message).toContain(' and 480 more');
    expect(message.length).toBeLessThan(2_000);
  });

  it('are listed as missing and unknown under add', () => {
    const change = (columns: readonly string[]) => checkAddedColumns(part, sent, {}, columns, 'add');
    expect(change(['score', 'title'])).toEqual({ missing: ['score'], unknown: ['code'] });
    expect(change([])).toEqual({ missing: [], unknown: ['code', 'title'] });
    expect(change(['title', 'code'])).toBeUndefined();
  });
});
