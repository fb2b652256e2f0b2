import { describe, expect, it } from 'vitest';
import type { PredictionApi } from '../../../src/api/prediction-api.js';
import { AmbiguousUploadError, OutageError, UntrustedError } from '../../../src/errors.js';
import { createReplyBreaker } from '../../../src/stages/submit/check-replies.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun, type StageRunOptions } from '../../helpers/stages/stage-run.js';
import { attemptsOf, failing, resumed, statesOf, submitAll } from '../../helpers/stages/submit-run.js';
import { turns } from '../../helpers/streams/gates.js';

const folder = useFolder();
const one = { uploads: 1, folios: 16 };

async function open(options: StageRunOptions = {}): Promise<StageRun> {
  return createStageRun(await folder(), options);
}

const ambiguous = () =>
  new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'the connection was cut', { doubt: 'no-reply' });
const unreadable = () =>
  new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'the reply is not JSON: <html>', { doubt: 'unreadable' });

describe('the breaker', () => {
  const end = (doubt: 'no-reply' | 'unreadable' | null) =>
    doubt === null
      ? Promise.resolve('read')
      : Promise.reject(doubt === 'unreadable' ? unreadable() : ambiguous());

  it.each([
    ['opens at three', 0, ['unreadable', 'unreadable', 'unreadable'], 3, false],
    ['does not count a request without a reply', 0, ['unreadable', 'no-reply', 'unreadable'], 2, true],
    ['counts anew after a readable reply', 2, [null, 'unreadable', 'unreadable'], 2, true],
    ['goes on from the count of an earlier process', 2, ['unreadable'], 3, false],
    ['allows one request as a trial, where it was open', 3, [], 3, true],
    ['stays open where the trial is not readable', 7, ['unreadable'], 8, false],
    [
      'opens at three again after a readable trial',
      7,
      [null, 'unreadable', 'unreadable', 'unreadable'],
      3,
      false,
    ],
  ] as const)('%s', async (_, before, ends, unreadable, allowsRequest) => {
    const breaker = createReplyBreaker(before);
    for (const doubt of ends) await breaker.watch(end(doubt)).catch(() => undefined);
    expect([breaker.unreadable, breaker.isOpen, breaker.allowsRequest]).toEqual([
      unreadable,
      unreadable >= 3,
      allowsRequest,
    ]);
  });
});

describe('a reply that cannot be read', () => {
  const unreadable = () =>
    new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'the reply is not JSON: <html>', { doubt: 'unreadable' });
  const allOf = (...chunks: number[]) =>
    Object.fromEntries(chunks.map((chunk) => [`${chunk}.1`, unreadable()]));

  it('makes a chunk that is never sent again, whatever the policy says', async () => {
    const run = await open({ config: { concurrency: one }, api: failing(allOf(1)) });
    const passed = await submitAll(run);
    expect(passed.map(({ number, cause }) => [number, cause])).toEqual([
      [2, null],
      [3, null],
      [1, 'AMBIGUOUS_HELD'],
    ]);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '2.1 accepted', '3.1 accepted']);
    const why = /chunk 1 may have been accepted .*its reply came and could not be read$/;
    expect(run.log).toContainEqual(expect.stringMatching(why));
    expect(run.deferred.error).toBeUndefined();
  });

  it('stays the reason after a second attempt that was sent for another one', async () => {
    const api = failing({ '1.1': ambiguous(), '1.2': unreadable() });
    const run = await open({ config: { concurrency: one }, records: 2, api });
    expect(await submitAll(run)).toEqual([]);
    expect((await submitAll(resumed(run, api))).map(({ cause }) => cause)).toEqual(['AMBIGUOUS_HELD']);
    expect(await attemptsOf(run)).toEqual(['1.1 ambiguous', '1.2 ambiguous']);
  });

  it('three times in a row ends the uploads, and what is accepted already is passed on', async () => {
    const run = await open({ records: 12, config: { concurrency: one }, api: failing(allOf(2, 3, 4)) });
    expect((await submitAll(run)).map(({ number }) => number)).toEqual([1]);
    expect(run.uploads.stopped).toBe(true);
    expect(run.deferred.error).toBeInstanceOf(UntrustedError);
    expect(run.deferred.error).toMatchObject({
      code: 'RECEIPTS_UNREADABLE',
      message: expect.stringContaining('3 replies to uploads in a row could not be read'),
      hint: expect.stringMatching(/--chunk 2 FOLIO.*--chunk 3 FOLIO.*--chunk 4 FOLIO/s),
    });
    expect(await attemptsOf(run)).toEqual([
      '1.1 accepted',
      '2.1 ambiguous',
      '3.1 ambiguous',
      '4.1 ambiguous',
    ]);
    expect(await statesOf(run)).not.toContain('unprocessed');
  });

  it('does not end them where one in between can be read', async () => {
    const run = await open({ records: 12, config: { concurrency: one }, api: failing(allOf(1, 2, 4, 5)) });
    await submitAll(run);
    expect(run.deferred.error).toBeUndefined();
    const states = await statesOf(run);
    expect(states).toEqual([...unprocessedAt(1, 2), 'submitted', ...unprocessedAt(4, 5), 'submitted']);
  });
  const unprocessedAt = (...chunks: number[]) => chunks.map(() => 'unprocessed');

  it('lets the next upload wait for those in flight, and those behind it go one by one', async () => {
    const service = failing({});
    const inFlight: number[] = [];
    let now = 0;
    const upload: PredictionApi['upload'] = async (request, signal) => {
      const begun = inFlight.push(++now);
      const areSideBySide = () => (begun <= 3 ? inFlight.length >= 3 : Math.max(...inFlight.slice(4)) >= 3);
      // Reading the source takes other threads, and so any number of turns.
      for (let i = 0; begun !== 4 && i < 5_000 && !areSideBySide(); i++) await turns(1);
      now -= 1;
      if (begun <= 3) throw unreadable();
      return service.upload(request, signal);
    };
    const run = await open({
      records: 20,
      config: { concurrency: { uploads: 3, folios: 16 } },
      api: { ...service, upload },
    });
    expect(await submitAll(run)).toEqual([]);
    // Three were in flight together, and no fourth was begun.
    expect(inFlight).toEqual([1, 2, 3]);
    expect(run.deferred.error).toMatchObject({ code: 'RECEIPTS_UNREADABLE' });

    const next = resumed(run, { ...service, upload });
    await submitAll(next);
    // One goes alone to see; since it is read, the others go side by side again.
    expect(inFlight.slice(3, 4)).toEqual([1]);
    expect(Math.max(...inFlight.slice(4))).toBe(3);
    expect(next.deferred.error).toBeUndefined();
  });

  it('lets those that waited for the same upload go one by one too', async () => {
    const service = failing({});
    const inFlight: number[] = [];
    let now = 0;
    const upload: PredictionApi['upload'] = async () => {
      const begun = inFlight.push(++now);
      // The first of four ends first. Later ones leave others the time to begin beside them.
      for (let i = 0; begun <= 4 && i < 5_000 && inFlight.length < 4; i++) await turns(1);
      if (begun > 1) await turns(begun <= 4 ? 20 : 200);
      now -= 1;
      throw begun === 1 ? unreadable() : ambiguous();
    };
    const run = await open({
      records: 20,
      config: { concurrency: { uploads: 4, folios: 16 } },
      api: { ...service, upload },
    });
    await submitAll(run);
    expect(inFlight.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(inFlight.length).toBeGreaterThan(9);
    expect(Math.max(...inFlight.slice(4))).toBe(1);
  });

  it('costs one more chunk a process at most, and never a record twice, however often the run is repeated', async () => {
    const service = failing({});
    const sent: string[] = [];
    const upload: PredictionApi['upload'] = async ({ file }) => {
      sent.push(/-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(file.name)![1]!);
      throw unreadable();
    };
    let run = await open({ records: 12, config: { concurrency: one }, api: { ...service, upload } });
    const sentBy: number[] = [];
    for (let time = 1; time <= 10; time++) {
      expect(await submitAll(run)).toEqual([]);
      expect(run.deferred.error).toMatchObject({ code: 'RECEIPTS_UNREADABLE', exitCode: 6 });
      sentBy.push(sent.length);
      run = resumed(run, { ...service, upload });
    }
    expect(sentBy).toEqual([3, 4, 5, 6, 6, 6, 6, 6, 6, 6]);
    expect(sent).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(new Set(await statesOf(run))).toEqual(new Set(['ambiguous']));

    // A person finds the folio of one: the service can be collected from, and the rest is given up.
    await run.checkpoint.recordAdopted(run.id, 2, { folio: 'F', serviceRecords: 2, rehearsal: false }, 1e15);
    expect((await submitAll(run)).map(({ state }) => state).sort()).toEqual([
      'submitted',
      ...Array.from({ length: 5 }, () => 'unprocessed'),
    ]);
  });

  it('is more serious than an outage that came before it', async () => {
    const run = await open({ records: 12, config: { concurrency: one }, api: failing(allOf(1, 2, 3)) });
    run.deferred.error = new OutageError('SERVICE_UNAVAILABLE', 'a poll failed for too long');
    await submitAll(run);
    expect(run.deferred.error).toMatchObject({ code: 'RECEIPTS_UNREADABLE' });
  });
});
