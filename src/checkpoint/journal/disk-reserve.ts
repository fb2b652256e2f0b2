/**
 * Room on the disk that is kept for the replies to paid requests: the file `runs/<run>/reserve`. It is made before an
 * intent is recorded. If the disk is full when a reply must be recorded, the file is cut piece by piece until the reply
 * has room. Then nothing more is paid for: the next process makes the file again, or pays for nothing.
 */

import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { TroubleError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { translateStateError } from '../sqlite/translate-state-error.js';
import { journalPath } from './journal-file.js';

export interface Reserve {
  /**
   * Records the intent of a paid request, once there is room to record its reply.
   * @throws the errors of the work; the system's error, translated by `translateStateError`; the error of a full disk
   *   for which room was given back before.
   */
  begin<T>(run: string, recordIntent: () => Promise<T>): Promise<T>;
  /** Records the end of a begun request. While the disk is full, gives room back and tries again. */
  end<T>(run: string, record: () => Promise<T>): Promise<T>;
  /** Removes the file of a run that sends nothing more, also one that a killed process has left. Never throws. */
  free(run: string): void;
  /** Removes the files. Never throws. */
  close(): void;
}

/** What one reply may take: the pages of its change in SQLite's log, and the line in the journal. */
const PIECE = 64 * 1024;
/** For the log and the shared memory of SQLite, and for what other processes write in the meantime. */
const BASE_PIECES = 16;

/** The room that is kept while this number of requests is open. */
export function reserveBytes(open: number): number {
  return (BASE_PIECES + open) * PIECE;
}

interface OpenReserve {
  readonly file: number;
  readonly path: string;
  size: number;
  /** The requests that have an intent and no end. */
  open: number;
}

export function createReserve(stateDir: string): Reserve {
  const reserves = new Map<string, OpenReserve>();
  /** Why room was given back. */
  let spent: unknown;

  const reserveOf = (run: string): OpenReserve => {
    const known = reserves.get(run);
    if (known !== undefined) return known;
    const path = reservePath(stateDir, run);
    try {
      makeFolder(dirname(path), 0o700);
      const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
      // A killed process may have left it.
      const reserve = { file, path, size: fstatSync(file).size, open: 0 };
      reserves.set(run, reserve);
      return reserve;
    } catch (error) {
      throw translateStateError(error, path);
    }
  };

  const free = (run: string): void => {
    const reserve = reserves.get(run);
    reserves.delete(run);
    try {
      if (reserve !== undefined) closeSync(reserve.file);
      rmSync(reservePath(stateDir, run), { force: true });
    } catch {
      // A file that stays does no harm: it is removed with its folder.
    }
  };

  return {
    begin: async (run, recordIntent) => {
      if (spent !== undefined) throw spent;
      const reserve = reserveOf(run);
      reserve.open += 1;
      try {
        grow(reserve, reserveBytes(reserve.open));
        return await recordIntent();
      } catch (error) {
        reserve.open -= 1;
        throw error;
      }
    },
    end: async (run, record) => {
      const reserve = reserves.get(run);
      try {
        for (;;) {
          try {
            return await record();
          } catch (error) {
            if (reserve === undefined || !lacksRoom(error)) throw error;
            spent ??= error;
            if (!giveBack(reserve)) throw error;
          }
        }
      } finally {
        if (reserve !== undefined) reserve.open -= 1;
      }
    },
    free,
    close: () => {
      for (const run of reserves.keys()) free(run);
    },
  };
}

/** The path of a run's reserve. */
export function reservePath(stateDir: string, run: string): string {
  return join(dirname(journalPath(stateDir, run)), 'reserve');
}

/** Writes bytes that no file system compresses, and waits until the disk has them. */
function grow(reserve: OpenReserve, size: number): void {
  if (reserve.size >= size) return;
  try {
    while (reserve.size < size) {
      const piece = randomFillSync(Buffer.alloc(Math.min(PIECE, size - reserve.size)));
      reserve.size += writeSync(reserve.file, piece, 0, piece.length, reserve.size);
    }
    fsyncSync(reserve.file);
  } catch (error) {
    throw translateStateError(error, reserve.path);
  }
}

/** @returns whether there was room left to give back. */
function giveBack(reserve: OpenReserve): boolean {
  if (reserve.size === 0) return false;
  const size = Math.max(reserve.size - PIECE, 0);
  try {
    ftruncateSync(reserve.file, size);
    // Some file systems free the room only when the change is on the disk.
    fsyncSync(reserve.file);
  } catch {
    return false;
  }
  reserve.size = size;
  return true;
}

/** SQLite reports a quota that is used up as a failed disk. */
const ROOM = new Set(['DISK_FULL', 'DISK_QUOTA', 'CHECKPOINT_IO']);

function lacksRoom(error: unknown): error is TroubleError {
  return error instanceof TroubleError && ROOM.has(error.code);
}
