import { describe, expect, it } from 'vitest';
import type { SourceError } from '../../src/errors.js';
import { isStrict, isWithinLimit, limitText } from '../../src/source/reject-limit.js';
import type { ScanSourceOptions } from '../../src/source/scan-source.js';
import type { RejectLimit } from '../../src/types.js';
import { useFiles } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const write = useFiles();

const scan = (paths: string[], maxRejected: RejectLimit, changes: Partial<ScanSourceOptions> = {}) =>
  scanPaths(paths, { maxRejected, maxRecordBytes: 1_000, ...changes });

const failed = (scanning: Promise<unknown>) =>
  scanning.then(
    () => expect.unreachable(),
    (error: unknown) => error as SourceError,
  );

describe('a limit', () => {
  it('is a number of records, or a share of all that were read', () => {
    const of = (records: number, rejected: number, blank: number, limit: RejectLimit) =>
      isWithinLimit({ records, rejected, blank }, limit);
    expect(of(1000, 6, 4, { records: 10 })).toBe(true);
    expect(of(1000, 7, 4, { records: 10 })).toBe(false);
    expect(of(1000, 3, 2, { share: 0.005 })).toBe(true);
    expect(of(1000, 3, 3, { share: 0.005 })).toBe(false);
    expect(of(100, 29, 0, { share: 0.29 })).toBe(true);
    expect(of(10, 10, 0, { share: 1 })).toBe(true);
    expect(of(199, 1, 0, { share: 0.005 })).toBe(false);
    for (const limit of [{ records: 0 }, { share: 0 }, { share: 0.005 }])
      expect(of(0, 0, 0, limit)).toBe(true);
  });

  it('is shown as it is written, and strict if it allows none', () => {
    expect([{ records: 10 }, { share: 0.005 }, { share: 1 }].map(limitText)).toEqual(['10', '0.5%', '100%']);
    expect([{ records: 0 }, { share: 0 }, { records: 1 }, { share: 1e-9 }].map(isStrict)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('a source beyond the limit', () => {
  it('is counted to its end: how many bad records of how many, the first ten, and the next command', async () => {
    const one = await write('1.csv', 'a,b\n1,2\n"3\n3",4\nbad\n5,6\n');
    const two = await write('2.csv', 'a,b\nbad\n7,8\nx"y,9\n');
    const error = await failed(scan([one, two], { records: 2 }));
    expect(error).toMatchObject({ code: 'SOURCE_TOO_MANY_REJECTED', exitCode: 4 });
    expect(error.message).toBe(
      `3 of 7 records cannot be sent, more than source.maxRejected (2): 3 are bad:
  ${one}: record 3 (line 5, byte 16): the number of fields is 1, not 2: "bad"
  ${two}: record 5 (line 2, byte 4): the number of fields is 1, not 2: "bad"
  record 7 (line 4, byte 12): the quote at byte 1 of the record neither opens nor closes a field: "x"y,9"`,
    );
    expect(error.hint).toContain(
      'or go on without them: foliopipe plan --set source.maxRejected=3 shows what that sends and costs, and pays nothing;\nthen foliopipe run --set source.maxRejected=3 ',
    );
    expect(error.facts).toEqual({
      records: 7,
      rejected: 3,
      blank: 0,
      file: one,
      record: 3,
      line: 5,
      byte: 16,
    });
    expect(await scan([one, two], { records: 3 })).toMatchObject({ records: 7, rejected: 3 });
  });

  it('of a share has a share of all records', async () => {
    const path = await write('a.csv', `a,b\n${'1,2\n'.repeat(199)}bad\n`);
    expect(await scan([path], { share: 0.005 })).toMatchObject({ records: 200, rejected: 1 });
    const more = await write('b.csv', `a,b\n${'1,2\n'.repeat(198)}bad\n`);
    expect((await failed(scan([more], { share: 0.005 }))).message).toMatch(
      /^1 of 199 records cannot be sent, more than source\.maxRejected \(0\.5%\): 1 is bad:\n/,
    );
  });

  it('of blank records names the columns, the first records, and each way on', async () => {
    const path = await write('a.csv', 'id,a,b\n1,,\n2,x,\n3," ","\n"\n4,\u00a0,\t\n5,,\n6,,y\n');
    const sentColumns = ['a', 'b'];
    const error = await failed(scan([path], { records: 0 }, { sentColumns }));
    expect(error).toMatchObject({ code: 'SOURCE_NOTHING_TO_SEND', exitCode: 4 });
    expect(error.message).toBe(
      `4 of 6 records cannot be sent, more than source.maxRejected (0): 4 are blank in all sent columns ("a", "b"), the first are ${path}: record 1 (line 2), record 3 (line 4), record 4 (line 6)`,
    );
    for (const text of [
      'the source has "id", "a", "b";',
      'upload.columns',
      '--set source.maxRejected=4 ',
      'upload.skipBlank: false',
    ]) {
      expect(error.hint).toContain(text);
    }
    expect(error.facts).toMatchObject({ records: 6, rejected: 0, blank: 4, file: path, record: 1, line: 2 });
    expect(await scan([path], { records: 4 }, { sentColumns })).toMatchObject({ records: 6, blank: 4 });
    expect(await scan([path], { records: 0 })).not.toHaveProperty('blank');
  });

  it('of blank records names at most 20 columns of the source', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `column ${at} ${'x'.repeat(200)}`);
    const path = await write('a.csv', `${names}\n${','.repeat(29)}\n`);
    const { hint } = await failed(scan([path], { records: 0 }, { sentColumns: names.slice(0, 1) }));
    expect(hint).toContain('"column 19 x');
    expect(hint).not.toContain('column 20');
    expect(hint).toContain('…" and 10 more;\n');
    expect(hint!.length).toBeLessThan(1_500);
  });

  it('counts bad and blank records together', async () => {
    const path = await write('a.csv', 'a,b\n,\nbad\n1,2\n');
    const sentColumns = ['a', 'b'];
    const error = await failed(scan([path], { records: 1 }, { sentColumns }));
    expect(error.message).toMatch(
      /^2 of 3 records .*: 1 is blank in all sent columns .* the first is .*record 1 \(line 2\); 1 is bad:\n .*record 2 .*$/,
    );
    expect(error.hint).toMatch(/^correct the record .*--set source\.maxRejected=2 .*upload\.columns/s);
    expect(await scan([path], { records: 2 }, { sentColumns })).toMatchObject({ rejected: 1, blank: 1 });
    expect(await failed(scan([path], { share: 0 }, { sentColumns }))).toMatchObject({
      code: 'SOURCE_FIELD_COUNT',
    });
  });

  it('is given to who asks for the error, who decides', async () => {
    const path = await write('a.csv', 'a,b\n,\n1,2\n');
    const errors: SourceError[] = [];
    const changes = { sentColumns: ['a'], onExcess: (error: SourceError) => errors.push(error) };
    expect(await scan([path], { records: 0 }, changes)).toMatchObject({ records: 2, blank: 1 });
    expect(errors).toMatchObject([{ code: 'SOURCE_NOTHING_TO_SEND' }]);
  });

  it('without a sent column finds no blank record: the column is reported instead', async () => {
    const path = await write('a.csv', 'a,b\n,\n1,2\n');
    expect(await scan([path], { records: 0 }, { sentColumns: ['a', 'gone'] })).toMatchObject({ records: 2 });
  });

  it('shows nothing of the file raw', async () => {
    const path = await write('a.csv', 'a,\u009b31mb\n,\n\u001b[2J\n1,2\n');
    const error = await failed(scan([path], { records: 1 }, { sentColumns: ['\u009b31mb', 'a'] }));
    expect(`${error.message}${error.hint}`).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('that allows none shows ten bad records, counts the others, and names the way on without them', async () => {
    const bad = Array.from({ length: 12 }, (_, at) => `bad ${at}\n1,2\n`);
    const path = await write('a.csv', `a,b\n${bad.join('')}`);
    const { code, message, hint } = await failed(scan([path], { records: 0 }));
    expect(code).toBe('SOURCE_FIELD_COUNT');
    expect(message.split('\n')).toHaveLength(12);
    expect(message).toMatch(/^12 of 24 records are bad:\n {2}\S+a\.csv: record 1 .*"bad 0"\n {2}record 3 /);
    expect(message).toMatch(/"bad 9"\n {2}and 2 more$/);
    expect(hint).toMatch(
      /;\nor go on without them: foliopipe plan --set source\.maxRejected=12 .*;\nthen foliopipe run .*beside the output$/,
    );
    expect(await scan([path], { records: 12 })).toMatchObject({ records: 24, rejected: 12 });
  });

  it('is not read to its end if each of the first 1,000 records is bad: there is nothing to go on with', async () => {
    const path = await write('a.csv', `a,b\n${'x;y\n'.repeat(1_500)}1,2\n`);
    const { code, message, hint } = await failed(scan([path], { records: 0 }));
    expect(code).toBe('SOURCE_FIELD_COUNT');
    expect(message).toMatch(
      /^each of the first 1,000 records is bad, so the rest was not read:\n.*\n {2}and 990 more$/s,
    );
    expect(hint).toContain('check the delimiter: "," (detected; source.delimiter sets it)');
    expect(hint).not.toContain('maxRejected');
  });

  it('of text that foliopipe has written does not mention encodings and delimiters', async () => {
    const path = await write('a.csv', 'a,b\n1,2\n\0,4\n');
    const { code, hint } = await failed(scan([path], { records: 0 }, { isOurs: true }));
    expect(code).toBe('SOURCE_NUL');
    expect(hint).toMatch(/^remove the NUL characters where the rows come from/);
    expect(hint).not.toMatch(/encoding|delimiter/);
  });
});
