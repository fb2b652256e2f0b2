/** How long a modelled service works: what each folio needs, and what its servers do in a span of time. */
import { createHeap } from './virtual-clock.js';

/**
 * @param model `processing`: ms that a folio needs at full speed; `stragglers`: every n-th needs ten times as
 *   much (0: none); `servers`: folios worked on at once, the others wait in line; `swing`: share by which the
 *   speed goes up and down in each `period` ms.
 */
export function createWork({ processing, stragglers = 0, servers = Infinity, swing = 0, period = 1 }) {
  const turn = (2 * Math.PI) / period;
  /** Work done by one server from 0 to a time; its slope, the speed, stays above 0. */
  const doneBy = (time) => time + (swing / turn) * (1 - Math.cos(turn * time));
  return {
    servers,
    doneBy,
    /** Of the n-th folio accepted, from 0. */
    needed: (nth) =>
      // Scattered, yet the same for everybody who asks, and every n-th exactly.
      stragglers > 0 && (nth * 7 + 3) % stragglers === 0 ? 10 * processing : processing,
    /** When work that begins at a time is done. */
    endOf: (begin, needed) => {
      const aim = doneBy(begin) + needed;
      let [low, high] = [begin, begin + needed / (1 - swing)];
      while (high - low > 0.01) {
        const middle = (low + high) / 2;
        if (doneBy(middle) < aim) low = middle;
        else high = middle;
      }
      return high;
    },
  };
}

/** The servers with their line: first come, first served. */
export function createServers(work) {
  const freeAt = createHeap((a, b) => a - b);
  let accepted = 0;
  return {
    /** @returns when the folio accepted now is begun and finished, and what it needs. */
    accept: (now) => {
      const needed = work.needed(accepted++);
      const begin = freeAt.size() < work.servers ? now : Math.max(now, freeAt.pop());
      const end = work.endOf(begin, needed);
      freeAt.push(end);
      return { begin, end, needed };
    },
  };
}
