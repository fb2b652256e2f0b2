/**
 * The answer store that every machine sees: files of the local store (local-answer-store.ts) under the same names. They
 * are fetched before they are read, because a look-up reads local files, and stored when they are written.
 */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { FileCache } from '../files/file-cache.js';
import type { SharedFiles } from '../files/shared-files.js';
import { makeFolder } from '../make-folder.js';
import type { AnswerLookup, AnswerStore, SegmentWriter } from './answer-store.js';
import { createLocalAnswerStore, LEFTOVER_AGE, type StoreLimits } from './local-answer-store.js';
import { isSecretDamaged, secretLost, writeSecret } from './secret.js';

const SECRET = 'reuse/secret';
const SEGMENTS = 'reuse/segments/';
const CHOICES = 'reuse/choices/';
const segmentName = (id: string) => `${SEGMENTS}${id}.seg`;
const choiceName = (run: string) => `${CHOICES}${run}.choice`;

/** @param cache the local copies of the files, which no other database shares. */
export function createSharedAnswerStore(
  shared: SharedFiles,
  cache: FileCache,
  limits?: StoreLimits,
): AnswerStore {
  const local = createLocalAnswerStore(cache.pathOf('reuse'), limits);
  /** The secret is made once, by the first process that needs it. */
  const fetchSecret = async (mustExist: boolean): Promise<void> => {
    if (await cache.fetch(SECRET)) return;
    if (mustExist || (await shared.list(SEGMENTS)).length > 0) {
      throw secretLost(placeOf(SECRET), 'is missing');
    }
    makeFolder(cache.pathOf('reuse'), 0o700);
    // Under a name of its own: another process of this machine removes a copy whose file is not stored yet.
    const own = cache.pathOf(`${SECRET}-${randomUUID()}`);
    try {
      await writeSecret(own);
      await shared.putFirst(SECRET, own);
    } finally {
      rmSync(own, { force: true });
    }
    await cache.fetch(SECRET);
  };
  const placeOf = (name: string) => `${shared.place} ${name}`;
  const withStoredChoice = (lookup: AnswerLookup): AnswerLookup => ({
    ...lookup,
    decide: (terms, run) =>
      cache.naming(async () => {
        const choice = await lookup.decide(terms, run);
        await cache.store(choiceName(run));
        return choice;
      }),
    plan: (terms) => cache.naming(() => lookup.plan(terms)),
  });
  const withStoredSegment = (writer: SegmentWriter, id: string): SegmentWriter => ({
    ...writer,
    finish: async () => {
      const segment = await writer.finish();
      await cache.store(segmentName(id));
      return segment;
    },
  });

  return {
    openLookup: async (options) => {
      await fetchSecret(options.segments.length > 0);
      for (const { id } of options.segments) await cache.fetch(segmentName(id));
      return cache.naming(async () => withStoredChoice(await local.openLookup(options)));
    },
    openChoice: async (run, choice) => {
      await cache.fetch(choiceName(run));
      return cache.naming(() => local.openChoice(run, choice));
    },
    removeChoice: (run) => cache.remove(choiceName(run)),
    openSegment: async (options) => {
      await fetchSecret(false);
      return withStoredSegment(await local.openSegment(options), options.id);
    },
    openCarried: local.openCarried,
    rewriteSegment: async (segment, id, unwanted) => {
      await fetchSecret(true);
      await cache.fetch(segmentName(segment.id));
      const rewritten = await cache.naming(() => local.rewriteSegment(segment, id, unwanted));
      if (rewritten !== undefined) await cache.store(segmentName(id));
      return rewritten;
    },
    storedSegments: async () => {
      const names = new Set((await shared.list(SEGMENTS)).map(({ name }) => name));
      for (const name of names) await cache.fetch(name);
      const found = await local.storedSegments();
      const paths = new Map([...names].map((name) => [cache.pathOf(name), placeOf(name)]));
      return {
        segments: found.segments.filter(({ id }) => names.has(segmentName(id))),
        damaged: found.damaged.flatMap((path) => paths.get(path) ?? []),
      };
    },
    sizeOfSegment: async (id) => (await shared.find(segmentName(id)))?.bytes,
    removeSegment: (id) => cache.remove(segmentName(id)),
    removeDamagedSecret: async () => {
      if ((await cache.fetch(SECRET)) && isSecretDamaged(cache.pathOf('reuse'))) await cache.remove(SECRET);
    },
    removeLeftovers: async (known) => {
      const kept = new Set([...[...known.segments].map(segmentName), ...[...known.runs].map(choiceName)]);
      const stored = [...(await shared.list(SEGMENTS)), ...(await shared.list(CHOICES))];
      const old = stored.filter(({ name, age }) => age > LEFTOVER_AGE && !kept.has(name));
      await shared.remove(old.map(({ name }) => name));
      await shared.removeUnnamed(LEFTOVER_AGE);
      await local.removeLeftovers(known);
    },
  };
}
