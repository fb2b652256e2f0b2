import { describe, expect, it } from 'vitest';
import type { UntrustedError } from '../../src/errors.js';
import { compareEchoes } from '../../src/results/compare-echoes.js';
import { type JoinedChunk, type JoinTerms, joinResults } from '../../src/results/join-results.js';
import type { PartTable } from '../../src/results/part-table.js';
import type { Judgement } from '../../src/types.js';
import { blockOf, failed, successful, thrownBy } from '../helpers/csv/result-parts.js';

const standard: JoinTerms = {
  sent: { key: 'id', columns: ['name', 'city'] },
  fields: [
    { column: 'name', sourceField: 0 },
    { column: 'city', sourceField: 1 },
  ],
  method: null,
  declared: null,
  compare: compareEchoes,
};

const three = 'Foo,Oslo\nBar,Rome\nBaz,Oslo\n';

async function join(
  source: string,
  parts: readonly PartTable[],
  terms: Partial<JoinTerms> = {},
): Promise<JoinedChunk> {
  return joinResults(parts, await blockOf(source, { fields: 2 }), { ...standard, ...terms });
}

async function refusal(source: string, parts: readonly PartTable[], terms: Partial<JoinTerms> = {}) {
  const block = await blockOf(source, { fields: 2 });
  return thrownBy(() => joinResults(parts, block, { ...standard, ...terms })) as UntrustedError;
}

describe('with the key, a sent column', () => {
  it('is an exact echo, a folded echo or an answer', async () => {
    const part = successful('id,name,city,code\n2,bar ,Rom,2\n1,"FOO",Oslo,1\n3,baz,x,3\n');
    const { method, joined } = await join(three, [part]);
    expect(method).toEqual({
      by: 'key',
      column: 'id',
      judged: {
        kinds: { SUCCESSFUL: { name: 'folded', city: 'answer' }, FAILED: {} },
        isProven: true,
        declared: null,
      },
    });
    expect([...joined.result]).toEqual([1, 0, 2]);
  });

  it('is judged also where every object has a member of its name', async () => {
    const parts = [successful('id,name,constructor\n1,Foo,Acme Ltd\n2,Bar,Bob Inc\n3,Baz,ACME LTD\n')];
    const terms = {
      sent: { key: 'id', columns: ['name', 'constructor'] },
      fields: [
        { column: 'name', sourceField: 0 },
        { column: 'constructor', sourceField: 1 },
      ],
    };
    const { method } = await join('Foo,Acme\nBar,Bob\nBaz,Acme\n', parts, terms);
    expect(Object.entries(method.judged!.kinds.SUCCESSFUL)).toEqual([
      ['name', 'exact'],
      ['constructor', 'answer'],
    ]);
  });

  it('is judged by the status of the part', async () => {
    const parts = [successful('id,name,code\n2,Bar,2\n1,Foo,1\n'), failed('id,city,name\n3,why not,Baz\n')];
    const { method } = await join(three, parts);
    expect(method.judged!.kinds).toEqual({
      SUCCESSFUL: { name: 'exact' },
      FAILED: { name: 'exact', city: 'answer' },
    });
  });

  it('that holds what was sent at other records is neither', async () => {
    const part = successful('id,name,city,code\n1,Foo,Rome,1\n2,Bar,Oslo,2\n3,Baz,Oslo,3\n');
    const error = await refusal(three, [part]);
    expect(error).toMatchObject({ code: 'ECHO_UNPROVEN', exitCode: 6 });
    expect(error.message).toContain('city came back with the values that were sent, but at other records');
    expect((error as { hint?: string }).hint).toContain('result.echo does not solve this');
  });

  it('must be an echo where it tells records apart', async () => {
    const part = successful('id,city,code\n1,Oslo,1\n2,Oslo,2\n');
    const error = await refusal('Foo,Oslo\nBar,Oslo\n', [part]);
    expect(error).toMatchObject({ code: 'ECHO_UNPROVEN', hint: expect.stringContaining('result.echo') });
    expect(error.message).toContain('(name)');
    expect(error.hint).toContain("records that are equal in those columns may then get each other's results");
  });

  it('need not come back at all', async () => {
    const { method } = await join(three, [successful('id,code\n1,1\n3,3\n2,2\n')]);
    expect(method.judged).toEqual({ kinds: { SUCCESSFUL: {}, FAILED: {} }, isProven: true, declared: null });
  });

  it('cannot be asked of records that are all the same', async () => {
    const { method } = await join('Foo,Oslo\nFoo,Oslo\n', [successful('id,city,code\n1,Oslo,1\n2,Oslo,2\n')]);
    expect(method.judged).toMatchObject({ isProven: false, kinds: { SUCCESSFUL: { city: 'exact' } } });
    const second = 'Bar,Oslo\nFoo,Oslo\n';
    const part = successful('id,city,code\n1,Oslo,1\n2,Oslo,2\n');
    expect(await refusal(second, [part], { method })).toMatchObject({ code: 'ECHO_UNPROVEN' });
  });

  it('must tell a failure from a success too', async () => {
    const parts = [successful('id,city,code\n2,Oslo,1\n'), failed('id,city,reason\n1,Oslo,bad\n')];
    expect(await refusal('Foo,Oslo\nBar,Oslo\n', parts)).toMatchObject({ code: 'ECHO_UNPROVEN' });
  });

  it('of failures only proves nothing of successes', async () => {
    const { method } = await join(three, [failed('id,name,reason\n1,Foo,a\n2,Bar,b\n3,Baz,c\n')]);
    expect(method.judged).toMatchObject({ isProven: false, kinds: { FAILED: { name: 'exact' } } });
    const later = await join(three, [successful('id,name,code\n1,Foo,a\n2,Bar,b\n3,Baz,c\n')], { method });
    expect(later.method.judged).toMatchObject({ isProven: true, kinds: { SUCCESSFUL: { name: 'exact' } } });
  });
});

describe('with the key and weak echoes', () => {
  const source = Array.from({ length: 50 }, (_, at) => `n${at},${at < 49 ? 'MT' : 'WY'}\n`).join('');
  const part = (code: (at: number) => string) => {
    const rows = Array.from({ length: 50 }, (_, at) => `${at + 1},${at < 49 ? 'MT' : 'WY'},${code(at)}\n`);
    return successful(`id,city,code\n${rows.join('')}`);
  };

  it('records that these do not tell apart may not have different results', async () => {
    const error = await refusal(source, [part(String)]);
    expect(error).toMatchObject({ code: 'RESULTS_INDISTINCT', exitCode: 6 });
    expect(error.message).toContain(
      '49 of 50 records have different results, although their returned columns are equal (except',
    );
    await join(source, [part(String)], { declared: ['city'] });
    await join(source, [part(() => 'same')]);
  });

  it('one in twenty may', async () => {
    const records = (twins: number) =>
      Array.from({ length: 50 }, (_, at) => ({ name: `n${at}`, city: at < twins ? 'Oslo' : `c${at}` }));
    const sourceOf = (twins: number) =>
      records(twins)
        .map(({ name, city }) => `${name},${city}\n`)
        .join('');
    const partOf = (twins: number) =>
      successful(
        `id,city,code\n${records(twins)
          .map(({ city }, at) => `${at + 1},${city},${at}\n`)
          .join('')}`,
      );
    await join(sourceOf(2), [partOf(2)]);
    expect(await refusal(sourceOf(3), [partOf(3)])).toMatchObject({ code: 'RESULTS_INDISTINCT' });
  });
});

describe('without the key', () => {
  it('results are joined by the columns that hold what was sent, in whatever order', async () => {
    const part = successful('city,name,code\nlater,BAR,2\nlater,foo,1\nlater,Baz,3\n');
    const { method, joined } = await join(three, [part]);
    expect(method).toMatchObject({ by: 'echo', columns: ['name'] });
    expect(method.judged!.kinds.SUCCESSFUL).toEqual({ name: 'folded', city: 'answer' });
    expect([...joined.result]).toEqual([1, 0, 2]);
  });

  it('one result in twenty may as well be another one’s', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `n${at < 2 ? 0 : at}`);
    const source = (some: readonly string[]) => some.map((name) => `${name},x\n`).join('');
    const part = (some: readonly string[]) =>
      successful(`name,city,code\n${some.map((name, at) => `${name},x,${at}\n`).join('')}`);
    expect((await join(source(names), [part(names)])).joined.indistinct.size).toBe(2);
    const fewer = names.slice(0, 39);
    expect(await refusal(source(fewer), [part(fewer)])).toMatchObject({ code: 'RESULTS_INDISTINCT' });
    const said = await join(source(fewer), [part(fewer)], { declared: ['name'] });
    expect(said.joined.indistinct.size).toBe(2);
  });

  it('nothing is joined where no column holds what was sent', async () => {
    const part = successful('name,city,code\na,b,1\nc,d,2\ne,f,3\n');
    expect(await refusal(three, [part])).toMatchObject({ code: 'ECHO_UNPROVEN' });
    expect(await refusal(three, [successful('code\n1\n2\n3\n')])).toMatchObject({ code: 'JOIN_IMPOSSIBLE' });
  });

  it('columns that do not fit together are strange', async () => {
    const part = successful('name,city,code\nFoo,Rome,1\nBar,Oslo,2\nBaz,Oslo,3\n');
    expect(await refusal(three, [part])).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
  });
});

it('failures that are joined by their echoes prove nothing of successes', async () => {
  const { method } = await join(three, [failed('name,reason\nFoo,a\nBar,b\nBaz,c\n')]);
  expect(method).toMatchObject({ by: 'echo', columns: ['name'], judged: { isProven: false } });
});

describe('a later chunk', () => {
  const judged: Judgement = {
    kinds: { SUCCESSFUL: { name: 'folded', city: 'answer' }, FAILED: {} },
    isProven: true,
    declared: null,
  };
  const byKey = { by: 'key', column: 'id', judged } as const;

  it('keeps what each column is, and the method', async () => {
    const part = successful('id,name,city,code\n1,FOO,Oslo,1\n2,Bar,Rome,2\n3,Baz,Oslo,3\n');
    expect((await join(three, [part], { method: byKey })).method).toBe(byKey);
  });

  it('is compared with what was sent', async () => {
    const part = successful('id,name,city,code\n1,Foo,x,1\n2,Boo,x,2\n3,Baz,x,3\n');
    const error = await refusal(three, [part], { method: byKey });
    expect(error).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
    expect(error.message).toContain('strange: name "Boo" of record 2');
  });

  it('may be the first with a column', async () => {
    const method = {
      ...byKey,
      judged: { ...judged, kinds: { SUCCESSFUL: { name: 'exact' }, FAILED: {} } },
    } as const;
    const parts = [
      successful('id,name,city,code\n1,Foo,OSLO,1\n2,Bar,Rome,2\n'),
      failed('id,city,reason\n3,Oslo,bad\n'),
    ];
    expect((await join(three, parts, { method })).method.judged!.kinds).toEqual({
      SUCCESSFUL: { name: 'exact', city: 'folded' },
      FAILED: { city: 'exact' },
    });
  });

  describe('that is the first with a column', () => {
    const numbersAlone = { kinds: { SUCCESSFUL: {}, FAILED: {} }, isProven: true, declared: null };
    const method = { by: 'key', column: 'id', judged: numbersAlone } as const;

    it('proves the join with it too', async () => {
      const ok = successful('id,code\n2,2\n');
      const honest = [ok, failed('id,name,reason\n1,Foo,bad\n3,Baz,bad\n')];
      expect((await join(three, honest, { method })).method.judged!.kinds.FAILED).toEqual({ name: 'exact' });
      const changed = [ok, failed('id,name,reason\n1,a,bad\n3,b,bad\n')];
      expect(await refusal(three, changed, { method })).toMatchObject({ code: 'ECHO_UNPROVEN' });
      const names = [successful('id,name,code\n1,a,1\n2,b,2\n3,c,3\n')];
      expect(await refusal(three, names, { method })).toMatchObject({ code: 'ECHO_UNPROVEN' });
    });

    it('may not have the name of another record in a failed part', async () => {
      const ok = successful('id,code\n1,1\n2,2\n');
      const error = await refusal(three, [ok, failed('id,name,city,reason\n3,FOO,Oslo,bad\n')], { method });
      expect(error).toMatchObject({ code: 'ECHO_UNPROVEN', exitCode: 6 });
      expect(error.message).toContain('has the number of record 3 and the name of record 1');
      expect(error.hint).not.toContain('result.echo');
      // A reason is no name. A correction is allowed where another echo tells the two records apart.
      await join(three, [ok, failed('id,name\n3,bad\n')], { method });
      await join(three, [ok, failed('id,name,city,reason\n3,Baz,Rome,bad\n')], { method });
      await join(three, [ok, failed('id,name,city,reason\n3,,Oslo,bad\n')], { method });
    });
  });

  it('whose echo was changed says how to leave it out', async () => {
    const kinds = { SUCCESSFUL: { name: 'exact', city: 'exact' }, FAILED: {} } as const;
    const method = { by: 'key', column: 'id', judged: { ...judged, kinds } } as const;
    const changed = successful('id,name,city,code\n1,Foo,Oslo,1\n2,Bar,Roma,2\n3,Baz,Oslo,3\n');
    const wayOut =
      'if the service may change city, leave them out of result.echo: result.echo: [name] and run again: nothing is paid again';
    expect((await refusal(three, [changed], { method })).hint).toContain(wayOut);
    expect((await refusal(three, [changed], { declared: ['name', 'city'] })).hint).toContain(wayOut);
    // No hint is offered to results at the wrong records.
    const shifted = successful('id,name,city,code\n3,Foo,Oslo,1\n1,Bar,Rome,2\n2,Baz,Oslo,3\n');
    expect((await refusal(three, [shifted], { method })).hint).toBeUndefined();
    const moved = successful('id,name,city,code\n1,Foo,Oslo,1\n2,Baz,Rome,2\n3,Bar,Oslo,3\n');
    expect((await refusal(three, [moved], { method })).hint).toBeUndefined();
  });

  it('may be the first with the key', async () => {
    const method = { by: 'echo', columns: ['name'], judged } as const;
    const part = successful('id,name,city,code\n1,Foo,x,1\n2,Bar,x,2\n3,Baz,x,3\n');
    expect((await join(three, [part], { method })).method).toBe(method);
    const shifted = successful('id,name,city,code\n3,Foo,x,1\n1,Bar,x,2\n2,Baz,x,3\n');
    expect(await refusal(three, [shifted], { method })).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
  });

  it('of a run that the first version began is judged', async () => {
    const part = successful('id,name,city,code\n1,FOO,x,1\n2,Bar,x,2\n3,Baz,x,3\n');
    const { method } = await join(three, [part], { method: { by: 'key', column: 'id', judged: null } });
    expect(method).toEqual({ by: 'key', column: 'id', judged });
    const echo = { by: 'echo', columns: ['name'], judged: null } as const;
    const keyless = successful('name,city,code\nFoo,x,1\nBar,x,2\nBaz,x,3\n');
    expect((await join(three, [keyless], { method: echo })).method).toMatchObject({
      by: 'echo',
      columns: ['name'],
      judged: { kinds: { SUCCESSFUL: { name: 'exact', city: 'answer' } } },
    });
    const other = successful('name,city,code\nFool,x,1\nBar,x,2\nBaz,x,3\n');
    expect(await refusal(three, [other], { method: echo })).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
  });

  it('may be the first in which an echo has other capitals', async () => {
    const kinds = { SUCCESSFUL: { name: 'exact', city: 'answer' }, FAILED: {} } as const;
    const exact = { ...judged, kinds };
    const loose = { SUCCESSFUL: { name: 'folded', city: 'answer' }, FAILED: {} };
    const keyed = successful('id,name,city,code\n1,FOO,x,1\n2,Bar,x,2\n3,Baz,x,3\n');
    const byNumber = { by: 'key', column: 'id', judged: exact } as const;
    expect((await join(three, [keyed], { method: byNumber })).method.judged!.kinds).toEqual(loose);
    const keyless = successful('name,city,code\nBar,x,2\nFOO,x,1\nBaz,x,3\n');
    const byName = { by: 'echo', columns: ['name'], judged: exact } as const;
    const { joined, method } = await join(three, [keyless], { method: byName });
    expect(method.judged!.kinds).toEqual(loose);
    expect([...joined.result]).toEqual([1, 0, 2]);
  });
});

describe('result.echo', () => {
  const part = successful('id,name,city,code\n1,x,Oslo,1\n2,Foo,Rome,2\n3,Bar,Oslo,3\n');

  it('names the echoes, and all else is an answer', async () => {
    const { method } = await join(three, [part], { declared: ['city'] });
    expect(method.judged).toEqual({
      kinds: { SUCCESSFUL: { name: 'answer', city: 'exact' }, FAILED: {} },
      isProven: true,
      declared: ['city'],
      isOnWord: true,
    });
    expect((await join(three, [part], { declared: [] })).method.judged!.kinds.SUCCESSFUL).toEqual({
      name: 'answer',
      city: 'answer',
    });
  });

  it('that tells the records apart proves the join, and one that does not is relied on', async () => {
    const whole = successful('id,name,city,code\n1,Foo,Oslo,1\n2,Bar,Rome,2\n3,Baz,Oslo,3\n');
    const isOnWord = async (source: string, table: PartTable, declared: readonly string[]) =>
      (await join(source, [table], { declared })).method.judged!.isOnWord;
    expect(await isOnWord(three, whole, ['name'])).toBeUndefined();
    expect(await isOnWord(three, whole, ['city', 'name'])).toBeUndefined();
    expect(await isOnWord(three, whole, ['city'])).toBe(true);
    expect(await isOnWord(three, whole, [])).toBe(true);
    // A declared column that does not come back tells nothing apart.
    expect(await isOnWord(three, successful('id,city,code\n1,Oslo,1\n2,Rome,2\n3,Oslo,3\n'), ['name'])).toBe(
      true,
    );
    const same = successful('id,name,city,code\n1,Foo,Oslo,1\n2,Foo,Oslo,2\n');
    expect(await isOnWord('Foo,Oslo\nFoo,Oslo\n', same, ['city'])).toBeUndefined();
    const { method } = await join(three, [whole], { declared: [] });
    expect((await join(three, [whole], { declared: [], method })).method).toBe(method);
  });

  it('does not make an echo of what is none', async () => {
    const error = await refusal(three, [part], { declared: ['name'] });
    expect(error).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
    const keyless = successful('name,city,code\nx,Oslo,1\nFoo,Rome,2\nBar,Oslo,3\n');
    expect(await refusal(three, [keyless], { declared: ['name'] })).toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
    });
    expect(await refusal(three, [keyless], { declared: [] })).toMatchObject({ code: 'JOIN_IMPOSSIBLE' });
  });
});

describe('a key that is not the one that was sent', () => {
  const float = successful('id,name,city,code\n2.0,Bar,Rome,2\n1.0,Foo,Oslo,1\n3.0,Baz,Oslo,3\n');
  const own = successful('id,name,city,code\n1,Bar,Rome,2\n2,Foo,Oslo,1\n3,Baz,Oslo,3\n');

  it('is refused, and result.echo is offered where it would help', async () => {
    const error = await refusal(three, [float]);
    expect(error).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
    expect(error.hint).toContain('with result.echo: [name, city], and run again: nothing is paid again');
    const other = successful('id,name,code\n1.0,a,1\n2.0,b,2\n3.0,c,3\n');
    expect((await refusal(three, [other])).hint).toBeUndefined();
  });

  it('gives method to the declared echoes', async () => {
    for (const part of [float, own]) {
      const { joined, method } = await join(three, [part], { declared: ['name', 'city'] });
      expect([...joined.result]).toEqual([1, 0, 2]);
      expect(method).toMatchObject({ by: 'echo', columns: ['name', 'city'] });
      expect((await join(three, [part], { declared: ['name', 'city'], method })).method).toBe(method);
    }
  });

  it('does so in a later chunk too', async () => {
    const first = successful('id,name,city,code\n1,Foo,Oslo,1\n2,Bar,Rome,2\n3,Baz,Oslo,3\n');
    const { method } = await join(three, [first], { declared: ['name'] });
    expect(method.by).toBe('key');
    const later = await join(three, [own], { declared: ['name'], method });
    expect([...later.joined.result]).toEqual([1, 0, 2]);
    expect(later.method).toBe(method);
  });

  it('says that these do not match either', async () => {
    const part = successful('id,name,code\n1.0,Foo,1\n2.0,Foo,2\n3.0,Baz,3\n');
    const error = await refusal(three, [part], { declared: ['name'] });
    expect(error).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
    expect(error.message).toContain('1.0');
    expect(error.hint).toContain(
      'they do not match by the columns of result.echo either: 2 results do not match',
    );
  });
});

describe('nothing was predicted', () => {
  it('where successes hold only what was sent', async () => {
    const part = successful('id,name\n1,Foo\n2,Bar\n3,Baz\n');
    expect(await refusal(three, [part])).toMatchObject({ code: 'NOTHING_PREDICTED', exitCode: 6 });
    expect(await refusal(three, [part], { declared: ['name'] })).toMatchObject({ code: 'NOTHING_PREDICTED' });
  });

  it('but it was where a sent column holds the answers, or all have failed', async () => {
    await join(three, [successful('id,name,city\n1,Foo,11\n2,Bar,22\n3,Baz,33\n')]);
    await join(three, [failed('id,name\n1,Foo\n2,Bar\n3,Baz\n')]);
  });
});
