import { describe, expect, it } from 'vitest';
import { mapGrowing } from '../../src/streams/map-concurrent.js';
import { collect } from '../helpers/streams/collect.js';
import { createGates, turns } from '../helpers/streams/gates.js';

async function* given<T>(...items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

describe('a map whose work adds items', () => {
  it("maps them before the source's next item, in their order, and what they add before them", async () => {
    const begun: string[] = [];
    const halve = async (text: string, add: (...texts: readonly string[]) => void) => {
      begun.push(text);
      if (text.length === 1) return text;
      add(text.slice(0, text.length / 2), text.slice(text.length / 2));
      return undefined;
    };
    expect(await collect(mapGrowing(given('abcd', 'e', 'fg'), 1, halve))).toEqual([...'abcdefg']);
    expect(begun).toEqual(['abcd', 'ab', 'a', 'b', 'cd', 'c', 'd', 'e', 'fg', 'f', 'g']);
  });

  it('waits at the end of the source for work that may still add items', async () => {
    const gates = createGates<string>();
    const work = async (item: string, add: (...items: readonly string[]) => void) => {
      if (item === 'late') return item;
      if ((await gates.enter(item)) === 'more') add('late');
      return item;
    };
    const mapped = collect(mapGrowing(given('one', 'two'), 2, work));
    await turns();
    gates.open('one', 'done');
    await turns();
    gates.open('two', 'more');
    expect(await mapped).toEqual(['one', 'two', 'late']);
  });

  it('never exceeds the bound', async () => {
    let inWork = 0;
    let most = 0;
    const work = async (depth: number, add: (...depths: readonly number[]) => void) => {
      inWork += 1;
      most = Math.max(most, inWork);
      await turns(1 + (depth % 3));
      if (depth > 0) add(depth - 1, depth - 1);
      inWork -= 1;
      return depth;
    };
    const found = await collect(mapGrowing(given(3, 3, 3), 2, work));
    expect(found.length).toBe(3 * (1 + 2 + 4 + 8));
    expect(most).toBe(2);
  });

  it('ends with the first failure while items wait and others are in work', async () => {
    const controller = new AbortController();
    const gates = createGates<string>();
    const work = async (item: string, add: (...items: readonly string[]) => void) => {
      add(`${item}+`);
      return gates.enter(item);
    };
    const mapped = collect(mapGrowing(given('one', 'two'), 2, work, controller));
    const failed = expect(mapped).rejects.toThrow('no good');
    await turns();
    gates.fail('one', new Error('no good'));
    await turns();
    expect(controller.signal.aborted).toBe(true);
    gates.open('one+', 'done');
    await failed;
    expect(gates.waiting()).toEqual([]);
  });

  it('ends when its consumer returns early while work is in flight', async () => {
    const gates = createGates<string>();
    const mapped = mapGrowing(given('one', 'two'), 2, (item) => gates.enter(item));
    const first = mapped.next();
    await turns();
    gates.open('one', 'done');
    expect(await first).toEqual({ done: false, value: 'done' });
    const left = mapped.return(undefined);
    gates.open('two', 'late');
    expect(await left).toEqual({ done: true, value: undefined });
  });
});
