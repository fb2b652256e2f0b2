/** A run as read from its journal: its chunks, uploads, searches and publications. */
import type { NumberedFile, RunLine } from '../journal/journal-line.js';
import type { Confirmed, Publication, Withheld } from '../publication.js';
import type { ChunkRow, ChunkState, RunState, Search, Upload } from '../state.js';

/** A journal has no results; they are found in the parts. */
export interface RebuiltChunk extends Omit<ChunkRow, 'state' | 'counts'> {
  readonly numbers: readonly number[] | null;
  readonly state: Exclude<ChunkState, 'uploading' | 'finished' | 'downloaded'>;
}

type RebuiltUpload = Omit<Upload, 'run'> & { readonly day: string };
type RebuiltSearch = Search & { readonly day: string };

export interface RebuiltRun {
  readonly head: RunLine;
  readonly chunks: ReadonlyMap<number, RebuiltChunk>;
  /** By `attemptKey`. */
  readonly uploads: ReadonlyMap<number, RebuiltUpload>;
  readonly searches: ReadonlyMap<number, RebuiltSearch>;
  readonly state: RunState;
  readonly isAllCut: boolean;
  /** The number of chunks that a pruned run had. */
  readonly prunedChunks: number;
  readonly round: number;
  readonly columns: readonly string[] | null;
  readonly isLearned: boolean;
  readonly publication: Publication | null;
  readonly partial: Publication | null;
  readonly withheld: Withheld | null;
  readonly confirmed: Confirmed | null;
  /** Every publication that was begun. Its number is used up, even if the output was never put in place. */
  readonly published: readonly NumberedFile[];
  readonly finishedAt: number | null;
  readonly prunedAt: number | null;
  /** Whether any reply came from a local service. */
  readonly isRehearsal: boolean;
  /** Whether more than one service has answered. */
  readonly isMixed: boolean;
}

/** A run whose journal is being read. */
export type RunBuilder = { -readonly [K in keyof RebuiltRun]: RebuiltRun[K] } & {
  readonly chunks: Map<number, RebuiltChunk>;
  readonly uploads: Map<number, RebuiltUpload>;
  readonly searches: Map<number, RebuiltSearch>;
  readonly published: NumberedFile[];
};
