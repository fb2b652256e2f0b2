/**
 * The answer store on the local disk: `<stateDir>/reuse/`, files 0600, folders 0700. Several processes may use it. Files
 * in it: `secret`, `segments/<id>.seg`, `choices/<run>.choice`, and temporary files.
 */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.js';
import { syncFolder } from '../streams/atomic-file.js';
import { ignoreMissing, namesIn } from '../streams/system-error.js';
import type { Milliseconds } from '../types.js';
import type { AnswerStore } from './answer-store.js';
import { openCarriedAnswers } from './carried-answers.js';
import { LANE_BITS } from './choice-format.js';
import { openChoiceReader } from './choice-reader.js';
import { createLookup } from './lookup.js';
import { emptySegment, rewriteSegment } from './rewrite-segment.js';
import { deriveKey, isSecretDamaged, openSecret } from './secret.js';
import { BLOCK_LIMITS, type BlockLimits } from './segment-blocks.js';
import { BlockBuffers, openSegmentReader, type SegmentReader, storedSegments } from './segment-reader.js';
import { createSegmentWriter } from './segment-writer.js';

/** Sizes that affect only memory and speed. */
export interface StoreLimits {
  readonly block: BlockLimits;
  /** A lane of a choice has 2 ** laneBits record numbers; at least 5. */
  readonly laneBits: number;
}

/** Younger files without a row may belong to a process that is still running. */
export const LEFTOVER_AGE: Milliseconds = 24 * 60 * 60 * 1000;

/** @param folder made when it is first written to. */
export function createLocalAnswerStore(
  folder: string,
  limits: StoreLimits = { block: BLOCK_LIMITS, laneBits: LANE_BITS },
): AnswerStore {
  const segmentsFolder = join(folder, 'segments');
  const choicesFolder = join(folder, 'choices');
  const secretPath = join(folder, 'secret');
  const segmentPath = (id: string) => join(segmentsFolder, `${id}.seg`);
  const choicePath = (run: string) => join(choicesFolder, `${run}.choice`);

  return {
    openLookup: async (options) => {
      const { segments, sentColumns } = options;
      const key = deriveKey(await openSecret(folder, segments.length > 0), sentColumns);
      const buffers = new BlockBuffers();
      const readers: SegmentReader[] = [];
      try {
        for (const segment of segments) {
          // The hashes of other columns are never equal.
          if (JSON.stringify(segment.sentColumns) !== JSON.stringify(sentColumns)) continue;
          const path = segmentPath(segment.id);
          readers.push(openSegmentReader(segment, path, { key, secretPath }, buffers));
        }
        const newChoicePath = async (run: string) => {
          makeFolder(choicesFolder, 0o700);
          return choicePath(run);
        };
        const place = { folder, newChoicePath, key, laneBits: limits.laneBits };
        return createLookup(place, options, readers, buffers);
      } catch (error) {
        for (const reader of readers) reader.close();
        throw error;
      }
    },
    openChoice: async (run, choice) => openChoiceReader(run, choice, choicePath(run)),
    removeChoice: (run) => remove(choicesFolder, choicePath(run)),
    openSegment: async (options) => {
      const key = deriveKey(await openSecret(folder, false), options.sentColumns);
      makeFolder(segmentsFolder, 0o700);
      const target = { folder, path: segmentPath(options.id), key, limits: limits.block };
      return createSegmentWriter(target, options);
    },
    openCarried: async (options) => openCarriedAnswers(folder, options),
    rewriteSegment: async (segment, id, unwanted) => {
      const key = deriveKey(await openSecret(folder, true), segment.sentColumns);
      const target = { path: segmentPath(id), id, key };
      if ('all' in unwanted) return emptySegment(segment, target);
      const buffers = new BlockBuffers();
      const reader = openSegmentReader(segment, segmentPath(segment.id), { key, secretPath }, buffers);
      try {
        return await rewriteSegment(reader, unwanted, target);
      } finally {
        reader.close();
        buffers.codec.release();
      }
    },
    storedSegments: async () => storedSegments(segmentsFolder),
    sizeOfSegment: async (id) => statSync(segmentPath(id), { throwIfNoEntry: false })?.size,
    removeSegment: (id) => remove(segmentsFolder, segmentPath(id)),
    removeDamagedSecret: async () => {
      if (isSecretDamaged(folder)) await remove(folder, secretPath);
    },
    removeLeftovers: async ({ segments, runs }) => {
      removeOld(segmentsFolder, (name) => name.endsWith('.seg') && segments.has(name.slice(0, -4)));
      removeOld(choicesFolder, (name) => name.endsWith('.choice') && runs.has(name.slice(0, -7)));
      removeOld(folder, (name) => name === 'secret');
    },
  };
}

async function remove(folder: string, path: string): Promise<void> {
  try {
    rmSync(path);
  } catch (error) {
    return ignoreMissing(error);
  }
  await syncFolder(folder);
}

/** Removes the files of a folder that are not kept and were not written to for a day. */
function removeOld(folder: string, isKept: (name: string) => boolean): void {
  const limit = Date.now() - LEFTOVER_AGE;
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() && !isKept(name) && found.mtimeMs < limit) rmSync(path, { force: true });
  }
}
