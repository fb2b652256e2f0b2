/** What every answer store keeps to: run over each implementation. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AnswerStore } from '../../src/reuse/answer-store.js';
import type { Segment } from '../../src/types.js';
import {
  type AnsweredFolio,
  batchesOf,
  chooseFor,
  DAY,
  NOW,
  readChoice,
  SENT_COLUMNS,
  segmentOptions,
  TERMS,
  writeSegment,
} from '../helpers/reuse/nights.js';

/** @param create gives an empty store. */
export function describeAnswerStore(kind: string, create: () => Promise<AnswerStore>): void {
  describe(`${kind}: an answer store`, () => {
    let store: AnswerStore;
    beforeEach(async () => {
      store = await create();
    });

    const folio = (records: AnsweredFolio['records'], age = 1, name = 'F1'): AnsweredFolio => ({
      folio: name,
      answeredAt: NOW - age * DAY,
      records,
    });
    const anna = { number: 7, sent: ['Anna', 'Rome'], values: ['11', 'Farms, large'] };
    const bert = { number: 9, sent: ['Bert', 'Bonn'], reason: 'no such place' };
    const rowOf = (row: string, age: number, number: number, run = 'R1') =>
      `${row} ${JSON.stringify([run, 'F1', 1, NOW - age * DAY, number])}`;

    it('gives the answers of equal records, with who paid for them', async () => {
      const segments = [await writeSegment(store, [folio([anna, bert])])];
      const asked = [['Carl', 'Oslo'], bert.sent, anna.sent, anna.sent];
      const choice = await chooseFor(store, asked, { segments });
      expect(choice).toMatchObject({
        segments: ['R1-1'],
        sent: 1,
        reused: { successful: 2, failed: 1 },
        duplicates: 0,
        outdated: 0,
        columns: ['code', 'title'],
        rehearsal: false,
      });
      const answered = rowOf('SUCCESSFUL,,,11,"Farms, large"', 1, 7);
      expect(await readChoice(store, 'R9', choice)).toEqual({
        sent: [1],
        reused: new Map([
          [2, rowOf('FAILED,SERVICE_FAILED,no such place,,', 1, 9)],
          [3, answered],
          [4, answered],
        ]),
        outdated: new Map(),
        byDouble: [],
        byFirst: [],
      });
    });

    it('says of a segment how many answers it has, and when they were paid for', async () => {
      const segment = await writeSegment(store, [folio([anna], 5), folio([bert], 2, 'F2')]);
      expect(segment).toMatchObject({ id: 'R1-1', successful: 1, failed: 1 });
      expect([segment.oldest, segment.newest]).toEqual([NOW - 5 * DAY, NOW - 2 * DAY]);
      const { keyColumn: _, ...own } = segmentOptions();
      expect(segment).toMatchObject(own);
    });

    it('leaves out blank records, and keeps failures without a reason', async () => {
      const blank = { number: 1, sent: [' ', ''], values: ['1', 'x'] };
      const silent = { number: 2, sent: ['Dora', 'Kyiv'], reason: '' };
      const segment = await writeSegment(store, [folio([blank, silent])]);
      expect([segment.successful, segment.failed]).toEqual([0, 1]);
      const choice = await chooseFor(store, [blank.sent, silent.sent], { segments: [segment] });
      expect(choice).toMatchObject({ sent: 1, segments: ['R1-1'], reused: { successful: 0, failed: 1 } });
      const { reused } = await readChoice(store, 'R9', choice);
      expect(reused.get(2)).toBe(rowOf('FAILED,SERVICE_FAILED,', 1, 2));
    });

    it('leaves out what the service did not answer in this run', async () => {
      const reused = await writeSegment(store, [{ ...folio([anna]), origin: 'reused' }]);
      expect([reused.successful, reused.oldest, reused.newest]).toEqual([0, 0, 0]);
    });

    it('writes a segment again without some records, and keeps the others as they were', async () => {
      const people = Array.from({ length: 300 }, (_, i) => ({
        ...anna,
        number: i + 1,
        sent: [`P${i}`, 'Rome'],
      }));
      const segment = await writeSegment(store, [folio([...people, bert])]);
      const [records] = batchesOf([people[5]!.sent, people[290]!.sent, bert.sent, ['Nobody', 'Oslo']], ';');
      const fields = { fields: [1, 2], delimiter: 59 };
      const rewritten = (await store.rewriteSegment(segment, 'R1-2', { records: records!, fields }))!;
      expect(rewritten).toMatchObject({
        dropped: { successful: 2, failed: 1 },
        segment: { id: 'R1-2', run: 'R1', successful: 298, failed: 0, newest: segment.newest },
      });
      const segments = [rewritten.segment];
      const choice = await chooseFor(
        store,
        [...people, bert].map(({ sent }) => sent),
        { segments },
      );
      const { sent, reused } = await readChoice(store, 'R9', choice);
      expect(sent).toEqual([6, 291, 301]);
      for (const { number } of people.filter((_, i) => i !== 5 && i !== 290))
        expect(reused.get(number)).toBe(rowOf('SUCCESSFUL,,,11,"Farms, large"', 1, number));
      expect(await store.rewriteSegment(rewritten.segment, 'R1-3', { records: records!, fields })).toBe(
        undefined,
      );
    });

    it('writes a segment again without old answers, and without all of them', async () => {
      const segment = await writeSegment(store, [folio([anna], 5), folio([bert], 2, 'F2')]);
      const younger = (await store.rewriteSegment(segment, 'R1-2', { before: NOW - 3 * DAY }))!;
      expect(younger).toMatchObject({
        dropped: { successful: 1, failed: 0 },
        segment: { successful: 0, failed: 1, oldest: NOW - 2 * DAY, newest: NOW - 2 * DAY },
      });
      await store.removeSegment('R1-2');
      const none = (await store.rewriteSegment(younger.segment, 'R1-3', { all: true }))!;
      expect(none).toMatchObject({
        dropped: { failed: 1 },
        segment: { id: 'R1-3', successful: 0, failed: 0 },
      });
      const choice = await chooseFor(store, [anna.sent, bert.sent], { segments: [none.segment], run: null });
      expect(choice).toMatchObject({ sent: 2, outdated: 0 });
    });

    it('knows its segments without their rows', async () => {
      expect(await store.storedSegments()).toEqual({ segments: [], damaged: [] });
      const of = { successful: 1, failed: 1, unprocessed: 0 };
      const first = await writeSegment(store, [folio([anna, bert])], { of });
      const empty = (await store.rewriteSegment(first, 'R1-2', { all: true }))!.segment;
      expect(await store.storedSegments()).toEqual({ segments: [first, empty], damaged: [] });
      expect([first.of, empty.of]).toEqual([of, of]);
    });

    it('keeps an old answer to compare with, and sends the record', async () => {
      const segments = [await writeSegment(store, [folio([anna], 95), folio([bert], 8, 'F2')])];
      const choice = await chooseFor(store, [anna.sent, bert.sent], { segments });
      expect(choice).toMatchObject({ sent: 2, outdated: 2, segments: [], columns: [] });
      const { outdated, reused, sent } = await readChoice(store, 'R9', choice);
      expect([reused.size, sent, [...outdated.keys()]]).toEqual([0, [1, 2], [1, 2]]);
      expect(outdated.get(1)).toContain(JSON.stringify(['R1', 'F1', 1, NOW - 95 * DAY, 7]));
    });

    it('takes no answer of another epoch, and none at a maxAge of 0', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      const wishes = { segments, run: null };
      const newer = await chooseFor(store, [anna.sent], { ...wishes, terms: { epoch: 'e2' } });
      expect(newer).toMatchObject({ sent: 1, outdated: 1 });
      const none = await chooseFor(store, [anna.sent], { ...wishes, terms: { maxAge: 0 } });
      expect(none).toMatchObject({ sent: 1, outdated: 1 });
    });

    it('takes no answer at an age of 0, also if the clock was ahead when it was paid for', async () => {
      const segments = [await writeSegment(store, [folio([anna, bert], -1)])];
      const asked = [anna.sent, bert.sent];
      const wishes = { segments, run: null };
      const none = await chooseFor(store, asked, { ...wishes, terms: { failedAge: 0 } });
      expect(none).toMatchObject({ sent: 1, outdated: 1, reused: { successful: 1, failed: 0 } });
      const held = await chooseFor(store, asked, { ...wishes, withheld: new Set(['R1-1']) });
      expect(held).toMatchObject({ sent: 1, reused: { successful: 1, failed: 0 } });
    });

    it('spreads the end of answers over the last fifth of their age', async () => {
      const people = Array.from({ length: 500 }, (_, i) => ({
        ...anna,
        number: i + 1,
        sent: [`P${i}`, 'Rome'],
      }));
      const segments = [await writeSegment(store, [folio(people, 81)])];
      const asked = people.map(({ sent }) => sent);
      const choose = (maxAge: number) =>
        chooseFor(store, asked, { segments, run: null, terms: { maxAge: maxAge * DAY } });
      expect((await choose(81)).reused.successful).toBe(0);
      expect((await choose(102)).reused.successful).toBe(500);
      const half = (await choose(90)).reused.successful;
      expect(half).toBeGreaterThan(180);
      expect(half).toBeLessThan(320);
    });

    it('lets the first segment decide that has a record', async () => {
      const old = await writeSegment(store, [folio([{ ...anna, values: ['99', 'old'] }], 1)]);
      const columns = ['title', 'score'];
      const own = { id: 'R2-1', run: 'R2', epoch: 'e2', columns, rehearsal: true };
      const newer = await writeSegment(store, [folio([{ ...anna, values: ['new', '0.5'] }], 1)], own);
      const first = await chooseFor(store, [anna.sent], { segments: [newer, old], terms: { epoch: 'e2' } });
      expect(first).toMatchObject({ segments: ['R2-1'], columns, rehearsal: true });
      const second = await chooseFor(store, [anna.sent], { segments: [newer, old] });
      expect(second).toMatchObject({ segments: [], sent: 1, outdated: 1, rehearsal: false });
      const third = await chooseFor(store, [anna.sent], { segments: [old, newer] });
      expect(third).toMatchObject({ segments: ['R1-1'], sent: 0 });
    });

    it('lets a newer answer of another segment decide where that of the first one is too old', async () => {
      const news = { ...anna, values: ['12', 'new'] };
      const own = { id: 'R2-1', run: 'R2' };
      // Some answers of the first segment are the newest ones, and others are old.
      const wide = await writeSegment(store, [folio([anna], 95), folio([bert], 1, 'F2')]);
      const asked = [anna.sent, bert.sent, anna.sent];
      for (const duplicates of ['send', 'once'] as const) {
        const of = async (age: number) => {
          const other = await writeSegment(store, [folio([news], age)], own);
          const choice = await chooseFor(store, asked, { segments: [wide, other], duplicates });
          return { choice, ...(await readChoice(store, 'R9', choice)) };
        };
        const young = await of(50);
        const row = `SUCCESSFUL,,,12,new ${JSON.stringify(['R2', 'F1', 1, NOW - 50 * DAY, 7])}`;
        expect(young.choice).toMatchObject({ segments: ['R1-1', 'R2-1'], sent: 0, outdated: 0 });
        expect([young.reused.get(1), young.reused.get(3)]).toEqual([row, row]);
        expect([young.sent, [...young.outdated]]).toEqual([[], []]);
        const sent = duplicates === 'send' ? [1, 3] : [1];
        for (const age of [94, 96]) {
          const old = await of(age);
          expect(old.choice).toMatchObject({ segments: ['R1-1'], outdated: sent.length });
          expect([old.sent, [...old.outdated.keys()]]).toEqual([sent, sent]);
        }
      }
    });

    it('does not go back to an answer that is older than a failure which is too old', async () => {
      const failed = await writeSegment(store, [folio([{ ...bert, sent: anna.sent }], 8)]);
      const older = await writeSegment(store, [folio([anna], 50)], { id: 'R2-1', run: 'R2' });
      const choice = await chooseFor(store, [anna.sent], { segments: [failed, older] });
      expect(choice).toMatchObject({ segments: [], sent: 1, outdated: 1 });
    });

    it.each([false, true])(
      'lets a success of equal records decide (the failure is newer: %s)',
      async (isNewer) => {
        const failed = folio([{ ...bert, sent: anna.sent }], 1, 'F2');
        const answered = folio([anna]);
        const segment = await writeSegment(store, isNewer ? [answered, failed] : [failed, answered]);
        expect([segment.successful, segment.failed]).toEqual([1, 1]);
        for (const failedAge of [0, 90 * DAY]) {
          const choice = await chooseFor(store, [anna.sent], {
            segments: [segment],
            terms: { ...TERMS, failedAge },
          });
          const { reused } = await readChoice(store, 'R9', choice);
          expect(reused.get(1)).toBe(rowOf('SUCCESSFUL,,,11,"Farms, large"', 1, 7));
        }
      },
    );

    it('leaves columns empty that a segment does not have', async () => {
      const own = { id: 'R2-1', run: 'R2', columns: ['score', 'code'] };
      const bertKnown = { ...bert, reason: undefined, values: ['0.5', '22'] };
      const segments = [
        await writeSegment(store, [folio([bertKnown as never])], own),
        await writeSegment(store, [folio([anna])]),
      ];
      const choice = await chooseFor(store, [anna.sent, bert.sent], { segments });
      expect(choice.columns).toEqual(['score', 'code', 'title']);
      const { reused } = await readChoice(store, 'R9', choice);
      expect(reused.get(1)).toContain('SUCCESSFUL,,,,11,"Farms, large" ');
      expect(reused.get(2)).toContain('SUCCESSFUL,,,0.5,22, ');
    });

    it('does not find what was sent as other columns', async () => {
      const sentColumns = [...SENT_COLUMNS].reverse();
      const segments = [await writeSegment(store, [folio([anna])], { sentColumns })];
      expect(await chooseFor(store, [anna.sent], { segments })).toMatchObject({ sent: 1, outdated: 0 });
    });

    it('sends equal records once if that is wanted', async () => {
      const segments: Segment[] = [await writeSegment(store, [folio([anna], 95)])];
      const asked = [
        ['Carl', 'Oslo'],
        anna.sent,
        ['', ''],
        anna.sent,
        ['Carl', 'Oslo'],
        ['', ''],
        ['Carl', 'Oslo'],
      ];
      const once = await chooseFor(store, asked, { segments, duplicates: 'once' });
      expect(once).toMatchObject({ sent: 4, duplicates: 3, outdated: 1 });
      const lists = await readChoice(store, 'R9', once);
      expect(lists.sent).toEqual([1, 2, 3, 6]);
      expect(lists.byDouble).toEqual([
        [2, 4],
        [1, 5],
        [1, 7],
      ]);
      expect(lists.byFirst).toEqual([
        [1, 5],
        [1, 7],
        [2, 4],
      ]);
      const all = await chooseFor(store, asked, { segments, duplicates: 'send' });
      expect(all).toMatchObject({ sent: 7, duplicates: 0, outdated: 2 });
    });

    it('takes no failure of a withheld run, and its successes', async () => {
      const held = await writeSegment(store, [folio([anna, bert])]);
      const asked = [bert.sent, anna.sent];
      const withheld = new Set([held.id]);
      const choice = await chooseFor(store, asked, { segments: [held], withheld });
      expect(choice).toMatchObject({ sent: 1, reused: { successful: 1, failed: 0 }, outdated: 1 });
      expect((await readChoice(store, 'R9', choice)).sent).toEqual([1]);
      const others = await chooseFor(store, asked, { segments: [held], withheld: new Set(['other']) });
      expect(others).toMatchObject({ sent: 0, reused: { successful: 1, failed: 1 } });
    });

    it('leaves out blank records that are not sent, in the choice and in a plan', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      const asked = [['', '\u00a0'], anna.sent, [' ', '\n'], ['Carl', 'Oslo'], ['', '']];
      for (const duplicates of ['send', 'once'] as const) {
        const wishes = { segments, duplicates, skipsBlank: true };
        const choice = await chooseFor(store, asked, wishes);
        expect(choice).toMatchObject({ sent: 1, duplicates: 0, reused: { successful: 1 } });
        expect((await readChoice(store, 'R9', choice)).sent).toEqual([4]);
        expect(await chooseFor(store, asked, { ...wishes, run: null })).toMatchObject({ sent: 1 });
      }
      expect(await chooseFor(store, asked, { segments })).toMatchObject({ sent: 4 });
    });

    it('plans without keeping the choice: the records to send, and how many of them are equal to an earlier one', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      const asked = [['Carl', 'Oslo'], anna.sent, ['', ''], ['Carl', 'Oslo'], ['', ''], ['Dora', 'Oslo']];
      for (const [duplicates, sent, equal] of [
        ['send', [1, 3, 4, 5, 6], 1],
        ['once', [1, 3, 5, 6], 0],
      ] as const) {
        const lookup = await store.openLookup({
          fields: [1, 2],
          delimiter: 44,
          sentColumns: SENT_COLUMNS,
          skipsBlank: false,
          segments,
          duplicates,
        });
        for (const batch of batchesOf(asked, ',')) await lookup.add(batch);
        const planned = await lookup.plan(TERMS);
        await lookup.close();
        expect(planned).toMatchObject({ equal, choice: { sent: sent.length, reused: { successful: 1 } } });
        const numbers = async (after: number) => {
          const found: number[] = [];
          for await (const list of planned.toSend(after)) found.push(...list);
          return found;
        };
        expect(await numbers(0)).toEqual(sent);
        expect(await numbers(4)).toEqual(sent.filter((number) => number > 4));
        await expect(store.openChoice('R9', planned.choice)).rejects.toThrow();
      }
    });

    it('shares one table between the origins of answers, and needs one source only without them', async () => {
      const others = { number: 3, sent: ['Eve', 'Lima'], values: ['3', 'x'] };
      const segments = [await writeSegment(store, [folio([anna, bert]), folio([others], 2, 'F2')])];
      const choice = await chooseFor(store, [others.sent, anna.sent, bert.sent], { segments });
      const chosen = await store.openChoice('R9', choice);
      for (const [lineage, sources] of [
        [true, 3],
        [false, 2],
      ] as const) {
        for await (const { numbers, answers } of chosen.reused(0, lineage)) {
          expect([...numbers]).toEqual([1, 2, 3]);
          expect(answers.sources.length).toBe(sources);
          expect(new Set(answers.sources.map((one) => 'table' in one && one.table.bytes)).size).toBe(1);
          expect(answers.sources.every(({ origin }) => origin === 'reused')).toBe(true);
        }
      }
      await chosen.close();
    });

    it('keeps the choice of each run, replaces it, and removes it', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      const first = await chooseFor(store, [anna.sent], { segments, run: 'R3' });
      const other = await chooseFor(store, [bert.sent], { segments, run: 'R4' });
      const again = await chooseFor(store, [anna.sent, bert.sent], { segments, run: 'R3' });
      expect((await readChoice(store, 'R3', again)).sent).toEqual([2]);
      await expect(store.openChoice('R3', first)).rejects.toMatchObject({ code: 'REUSE_CHOICE_DAMAGED' });
      await store.removeChoice('R3');
      await store.removeChoice('R3');
      await expect(store.openChoice('R3', again)).rejects.toMatchObject({ code: 'REUSE_CHOICE_LOST' });
      expect((await readChoice(store, 'R4', other)).sent).toEqual([1]);
    });

    it('refuses to go on without a segment that should be there', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      await store.removeSegment('R1-1');
      await store.removeSegment('R1-1');
      await expect(chooseFor(store, [anna.sent], { segments })).rejects.toMatchObject({
        code: 'REUSE_SEGMENT_LOST',
        facts: { segment: 'R1-1' },
      });
    });

    it('keeps a choice that needs no segment any more', async () => {
      const segments = [await writeSegment(store, [folio([anna])])];
      const choice = await chooseFor(store, [anna.sent], { segments });
      await store.removeSegment('R1-1');
      expect((await readChoice(store, 'R9', choice)).reused.size).toBe(1);
    });

    it('works with no records and with no segments', async () => {
      const empty = await chooseFor(store, [], { segments: [] });
      expect(empty).toMatchObject({ sent: 0, segments: [], columns: [] });
      expect((await readChoice(store, 'R9', empty)).sent).toEqual([]);
      const segments = [await writeSegment(store, [])];
      expect(await chooseFor(store, [anna.sent], { segments })).toMatchObject({ sent: 1 });
    });
  });
}
