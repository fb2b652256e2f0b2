import { describe, expect, it } from 'vitest';
import {
  answersFromJoin,
  refusedAnswers,
  skippedAnswers,
  unprocessedAnswers,
} from '../../src/results/answers.js';
import { joinByKey } from '../../src/results/join-by-key.js';
import { createOutputLayout } from '../../src/results/output-layout.js';
import type { PartTable } from '../../src/results/part-table.js';
import { createRowWriter } from '../../src/results/row-writer.js';
import type { UnprocessedCause } from '../../src/types.js';
import { blockOf, failed, successful } from '../helpers/csv/result-parts.js';

interface Setup {
  readonly source: string;
  readonly sourceColumns: string[];
  readonly delimiter?: string;
  readonly kept?: 'all' | string[];
  readonly lineage?: boolean;
  readonly columns?: string[];
}

function setUp({
  source,
  sourceColumns,
  delimiter = ',',
  kept = 'all',
  lineage = false,
  columns = ['code'],
}: Setup) {
  const laidOut = { columns: sourceColumns, files: [{ dialect: { delimiter } }] };
  const layout = createOutputLayout(laidOut, { columns: kept, prefix: 'p_', lineage });
  const rows = createRowWriter({ run: 'R1', layout, columns, sentColumns: new Set(['id', 'name']) });
  return { rows, block: blockOf(source, { fields: sourceColumns.length, delimiter }) };
}

async function enriched(setup: Setup, ...parts: PartTable[]) {
  const { rows, block } = setUp(setup);
  const records = await block;
  const { bytes, counts } = rows.write(
    records,
    answersFromJoin(joinByKey(parts, 'id', records.numbers), { folio: 'F,1', answeredAt: 0 }),
  );
  return { text: bytes.toString(), counts };
}

const twoColumns = ['a', 'b'];

describe('the source part of a row', () => {
  const part = successful('id,code\n1,x\n2,y\n');

  it('is the raw record of a comma source, quotes and quoted newlines included', async () => {
    const source = '"a ""1""","x\r\ny"\n"plain",c\r\n';
    const { text, counts } = await enriched({ source, sourceColumns: twoColumns }, part);
    expect(text).toBe('"a ""1""","x\r\ny",SUCCESSFUL,,,x\n"plain",c,SUCCESSFUL,,,y\n');
    expect(counts).toMatchObject({ successful: 2, failed: 0, unprocessed: 0, indistinct: 0 });
  });

  it.each([
    ['within', 'c\rd,e', '"c\rd",e'],
    ['before the delimiter', 'c\r,"d"', '"c\r","d"'],
    ['at the end of the record', '"c",d\r', '"c","d\r"'],
    ['alone', '\r,""', '"\r",""'],
    ['far behind', `"c",${'d'.repeat(200)}\re`, `"c","${'d'.repeat(200)}\re"`],
  ])('quotes a field with a CR %s, and no other', async (_, fields, expected) => {
    const source = `${fields}\r\n"x",y\n`;
    const { text } = await enriched({ source, sourceColumns: twoColumns }, part);
    expect(text).toBe(`${expected},SUCCESSFUL,,,x\n"x",y,SUCCESSFUL,,,y\n`);
  });

  it('of chosen columns keeps their raw fields, and quotes an unquoted CR', async () => {
    const source = '"a",b,"c""c"\nd,e,f\r\r\n';
    const setup = { source, sourceColumns: ['a', 'b', 'c'], kept: ['c', 'a'] };
    expect((await enriched(setup, part)).text).toBe('"c""c","a",SUCCESSFUL,,,x\n"f\r",d,SUCCESSFUL,,,y\n');
  });

  it('has a column as often as it is chosen, however large it is', async () => {
    const large = 'x'.repeat(300_000);
    const setup = { source: `${large},b\n`, sourceColumns: twoColumns, kept: ['a', 'b', 'a', 'a', 'a', 'a'] };
    const { text } = await enriched(setup, successful('id,code\n1,x\n'));
    expect(text).toBe(`${large},b,${`${large},`.repeat(4)}SUCCESSFUL,,,x\n`);
  });

  it('of a ; source is its values, quoted where a comma CSV needs it', async () => {
    const source = '"plain";a,b\r\n"x;""y""";"1\r\n2"\r\n';
    const setup = { source, sourceColumns: twoColumns, delimiter: ';' };
    expect((await enriched(setup, part)).text).toBe(
      'plain,"a,b",SUCCESSFUL,,,x\n"x;""y""","1\r\n2",SUCCESSFUL,,,y\n',
    );
  });
});

describe('a success', () => {
  const setup = { source: 'a,b\n', sourceColumns: twoColumns, columns: ['code', 'title', 'score'] };

  it('has the added columns in the order of the run, whatever the order of the part', async () => {
    const part = successful('title,id,score,code,name\n"T, ""x""\r\nz",1,,"7",n\n');
    expect((await enriched(setup, part)).text).toBe('a,b,SUCCESSFUL,,,"7","T, ""x""\r\nz",\n');
  });

  it('leaves a column empty that the part lacks, and drops one that the run lacks', async () => {
    const part = successful('id,more,code\n1,m,7\n');
    expect((await enriched(setup, part)).text).toBe('a,b,SUCCESSFUL,,,7,,\n');
  });

  it('quotes a value with a lone CR at the end of the row', async () => {
    const part = successful('id,code,title,score\n1,7,t,s\r\r\n');
    expect((await enriched(setup, part)).text).toBe('a,b,SUCCESSFUL,,,7,t,"s\r"\n');
  });
});

describe('a failure', () => {
  const setup = { source: 'a,b\nc,d\n', sourceColumns: twoColumns, columns: ['code', 'title'] };

  it('has the one reason, unquoted by the part or not, and empty added cells', async () => {
    const part = failed('id,reason,name\n2,"too ""short"", really",n\n1,,n\n');
    const { text, counts } = await enriched(setup, part);
    expect(text).toBe('a,b,FAILED,SERVICE_FAILED,,,\nc,d,FAILED,SERVICE_FAILED,"too ""short"", really",,\n');
    expect(counts).toMatchObject({ successful: 0, failed: 2, unprocessed: 0, indistinct: 0 });
  });

  it('has several reasons by their names, the empty ones left out', async () => {
    const part = failed('id,error,detail,code\n1,bad,"no, none",9\n2,,only,9\n');
    expect((await enriched(setup, part)).text).toBe(
      'a,b,FAILED,SERVICE_FAILED,"error: bad; detail: no, none",,\n' +
        'c,d,FAILED,SERVICE_FAILED,detail: only,,\n',
    );
  });

  it('laid out like a success has its reason in a shared column', async () => {
    const part = failed('id,code,title\n1,,too short\n2,,\n');
    expect((await enriched(setup, part)).text).toBe(
      'a,b,FAILED,SERVICE_FAILED,title: too short,,\nc,d,FAILED,SERVICE_FAILED,,,\n',
    );
  });

  it('whose one column is a shared one has its value', async () => {
    const part = failed('id,title\n1,too short\n2,"no, none"\n');
    expect((await enriched(setup, part)).text).toBe(
      'a,b,FAILED,SERVICE_FAILED,too short,,\nc,d,FAILED,SERVICE_FAILED,"no, none",,\n',
    );
  });

  it('without any reason says only that it failed', async () => {
    const { text } = await enriched(setup, failed('id,name\n1,n\n2,n\n'));
    expect(text).toBe('a,b,FAILED,SERVICE_FAILED,,,\nc,d,FAILED,SERVICE_FAILED,,,\n');
  });

  it('is written among successes in the order of the source', async () => {
    const { text, counts } = await enriched(
      setup,
      successful('id,code,title\n2,7,t\n'),
      failed('id,reason\n1,bad\n'),
    );
    expect(text).toBe('a,b,FAILED,SERVICE_FAILED,bad,,\nc,d,SUCCESSFUL,,,7,t\n');
    expect(counts).toMatchObject({ successful: 1, failed: 1, unprocessed: 0, indistinct: 0 });
  });
});

describe('lineage', () => {
  it('names run, folio, part, record and time', async () => {
    const setup = { source: 'a,b\nc,d\n', sourceColumns: twoColumns, lineage: true };
    const parts = [successful('id,code\n2,7\n', 12), failed('id,reason\n1,bad\n', 3)];
    expect((await enriched(setup, ...parts)).text).toBe(
      'a,b,FAILED,SERVICE_FAILED,bad,,R1,"F,1",3,1,1970-01-01T00:00:00.000Z\n' +
        'c,d,SUCCESSFUL,,,7,R1,"F,1",12,2,1970-01-01T00:00:00.000Z\n',
    );
  });
});

describe('an unprocessed chunk', () => {
  it.each<UnprocessedCause>(['AMBIGUOUS_HELD', 'FOLIO_LOST', 'DEADLINE'])(
    'has a row for each record that says %s',
    async (cause) => {
      const { rows, block } = setUp({
        source: '"a",b\nc,d\n',
        sourceColumns: twoColumns,
        columns: ['x', 'y'],
      });
      const { bytes, counts } = rows.write(await block, unprocessedAnswers((await block).count, cause, null));
      const lines = bytes.toString().split('\n');
      expect(lines).toHaveLength(3);
      expect(lines[0]).toMatch(new RegExp(`^"a",b,UNPROCESSED,${cause},[a-z ]+,,$`));
      expect(lines[1]).toMatch(/^c,d,UNPROCESSED,/);
      expect(counts).toMatchObject({ successful: 0, failed: 0, unprocessed: 2, indistinct: 0 });
    },
  );

  it('has a lineage without part, and without folio where there is none', async () => {
    const { rows, block } = setUp({ source: 'a,b\n', sourceColumns: twoColumns, lineage: true });
    const records = await block;
    expect(
      rows.write(records, unprocessedAnswers(records.count, 'FOLIO_LOST', 'F1')).bytes.toString(),
    ).toMatch(/,,R1,F1,,1,\n$/);
    expect(
      rows.write(records, unprocessedAnswers(records.count, 'AMBIGUOUS_HELD', null)).bytes.toString(),
    ).toMatch(/,,R1,,,1,\n$/);
  });
});

it('rows stay unchanged when the next chunk is written', async () => {
  const { rows, block } = setUp({ source: 'a,b\n', sourceColumns: twoColumns });
  const first = rows.write(await block, unprocessedAnswers((await block).count, 'FOLIO_LOST', null)).bytes;
  const copy = first.toString();
  rows.write(await block, unprocessedAnswers((await block).count, 'AMBIGUOUS_HELD', null));
  expect(first.toString()).toBe(copy);
});

it('the row of a refused record has the reason of the service and no folio', async () => {
  const { rows, block } = setUp({
    source: 'a,"b\nb"\n',
    sourceColumns: twoColumns,
    lineage: true,
    columns: ['code', 'title'],
  });
  const { bytes, counts } = rows.write(await block, refusedAnswers((await block).count, 'HTTP 422: "a", no'));
  expect(bytes.toString()).toBe('a,"b\nb",FAILED,RECORD_REFUSED,"HTTP 422: ""a"", no",,,R1,,,1,\n');
  expect(counts).toMatchObject({ successful: 0, failed: 1, unprocessed: 0, indistinct: 0 });
});

it('a record that was not sent is FAILED and counted as skipped; its lineage is empty, because nothing was paid', async () => {
  const { rows, block } = setUp({ source: ' ,\n', sourceColumns: twoColumns, lineage: true });
  const { bytes, counts } = rows.write(await block, skippedAnswers(1));
  expect(bytes.toString()).toBe(
    ' ,,FAILED,NOTHING_TO_SEND,"every sent column of this record is blank, so it was not sent",,,,,,\n',
  );
  expect(counts).toMatchObject({ failed: 1, skipped: 1, successful: 0, reused: { failed: 0 } });
});
