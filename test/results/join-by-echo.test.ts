import { describe, expect, it } from 'vitest';
import { UntrustedError } from '../../src/errors.js';
import { joinByEcho } from '../../src/results/join-by-echo.js';
import type { PartTable } from '../../src/results/part-table.js';
import { blockOf, failed, successful } from '../helpers/csv/result-parts.js';

/** The source's columns are title, id, city; sent are name (its title) and city. */
const echoed = [
  { column: 'name', sourceField: 0, isFolded: false },
  { column: 'city', sourceField: 2, isFolded: false },
];

async function join(source: string, ...parts: PartTable[]) {
  const joined = joinByEcho(parts, echoed, await blockOf(source, { fields: 3, firstRecord: 11 }));
  const matches = [...joined.part].map((part, i) => `${part}/${joined.result[i]}`);
  return { matches, indistinct: joined.indistinct.size };
}

describe('results', () => {
  it('find their records in any order of records, columns and parts', async () => {
    const parts = [
      successful('code,city,name\n1,Rome,Bar\n2,Oslo,Foo\n'),
      failed('name,reason,city\nBaz,bad,Rome\n'),
    ];
    expect(await join('Foo,1,Oslo\nBaz,2,Rome\nBar,3,Rome\n', ...parts)).toEqual({
      matches: ['0/1', '1/0', '0/0'],
      indistinct: 0,
    });
  });

  it('may be quoted differently than in the source', async () => {
    const source = '"Foo",1,Oslo\n"A ""B"", C",2,"New\nYork"\n,3,""\n';
    const part = successful('name,city,code\r\n"","",1\r\n"A ""B"", C","New\nYork",2\r\nFoo,"Oslo",3\r\n');
    expect(await join(source, part)).toEqual({ matches: ['0/2', '0/1', '0/0'], indistinct: 0 });
  });

  it('are not mixed up where a value moves to the next column', async () => {
    const part = successful('name,city,code\nab,,1\na,b,2\n,ab,3\n');
    expect(await join('a,1,b\nab,2,\n,3,ab\n', part)).toEqual({
      matches: ['0/1', '0/0', '0/2'],
      indistinct: 0,
    });
  });

  it('are compared byte by byte: blanks, case and accents count', async () => {
    const part = successful('name,city,code\nfoo,x,1\nFoo,x,2\nFoo ,x,3\nF\u00f6o,x,4\nFo\u0308o,x,5\n');
    const source = 'Foo,1,x\nfoo,2,x\nF\u00f6o,3,x\nFo\u0308o,4,x\nFoo ,5,x\n';
    expect((await join(source, part)).matches).toEqual(['0/1', '0/0', '0/3', '0/4', '0/2']);
  });
});

it('results may come back in other capitals, with other blanks and Unicode forms, where the column is folded', async () => {
  const folded = echoed.map((column) => ({ ...column, isFolded: true }));
  const part = successful('name,city,code\n"F\u00d6O  BAR",OSLO ,1\nSTRASSE,rome,2\n');
  const block = await blockOf('Stra\u00dfe,1,Rome\n Fo\u0308o bar,2,Oslo\n', { fields: 3 });
  expect([...joinByEcho([part], folded, block).result]).toEqual([1, 0]);
});

describe('equal records', () => {
  const source = 'Foo,1,Oslo\nBar,2,Rome\nFoo,3,Oslo\nFoo,4,Oslo\n';

  it('get equal results in their order', async () => {
    const parts = [
      successful('name,city,code\nFoo,Oslo,1\n'),
      successful('name,city,code\nFoo,Oslo,1\nBar,Rome,2\nFoo,Oslo,1\n', 1),
    ];
    expect(await join(source, ...parts)).toEqual({ matches: ['0/0', '1/1', '1/0', '1/2'], indistinct: 0 });
  });

  it('are not counted where equal results are quoted otherwise, or in another order of columns', async () => {
    const parts = [
      successful('name,city,code,title\nFoo,Oslo,1,t\n'),
      successful('"title",name,code,city\n"t",Foo,"1",Oslo\nt,Bar,2,Rome\nt,Foo,1,Oslo\n', 1),
    ];
    expect((await join(source, ...parts)).indistinct).toBe(0);
  });

  it('are counted where their results differ', async () => {
    const part = successful('name,city,code\nFoo,Oslo,1\nFoo,Oslo,1\nBar,Rome,2\nFoo,Oslo,9\n');
    expect((await join(source, part)).indistinct).toBe(3);
  });

  it('are counted where some of them failed', async () => {
    const parts = [
      successful('name,city,code\nFoo,Oslo,1\nFoo,Oslo,1\nBar,Rome,2\n'),
      failed('name,city,code\nFoo,Oslo,1\n'),
    ];
    expect((await join(source, ...parts)).indistinct).toBe(3);
  });
});

describe('results that do not match', () => {
  it('are named: missing, doubled and strange at once', async () => {
    const part = successful('name,city,code\nFoo,Oslo,1\nFoo,Oslo,1\nQux,Bern,2\n');
    const joining = join('Foo,1,Oslo\nBar,2,Rome\n', part);
    await expect(joining).rejects.toBeInstanceOf(UntrustedError);
    await expect(joining).rejects.toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
      message: expect.stringMatching(
        /^3 results .*doubled: record 11.*strange: "Qux \| Bern.*missing: record 12/,
      ),
    });
  });

  it('are named: one of several equal records is missing, or there is one too many', async () => {
    const source = 'Foo,1,Oslo\nFoo,2,Oslo\n';
    await expect(join(source, successful('name,city,c\nFoo,Oslo,1\n'))).rejects.toThrow('missing: record 12');
    const three = successful('name,city,c\nFoo,Oslo,1\nFoo,Oslo,1\nFoo,Oslo,1\n');
    await expect(join(source, three)).rejects.toThrow('doubled: record 11');
  });
});
