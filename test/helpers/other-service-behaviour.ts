/** The words in which a test tells the independent service how to behave. */
import type http from 'node:http';
import type { Answer, OtherResult, PartStyle, SentRecord } from './other-service-parts.js';

export type Operation = 'upload' | 'track' | 'download';

export interface OtherFolio {
  readonly id: string;
  readonly fileName: string;
  readonly description: string;
  readonly records: readonly SentRecord[];
  /** Number of the chunk in it, read off the file name. */
  readonly chunk: number;
  /** Polls answered so far. */
  polls: number;
  finished: boolean;
  forgotten: boolean;
}

/** One request as it came. */
export interface SeenRequest {
  readonly operation: Operation;
  /** How many of the same operation came so far, this one included. */
  readonly nth: number;
  /** How many of the same operation on the same chunk (and part) came so far, this one included. */
  readonly again: number;
  /** Null where the folio is not known. */
  readonly chunk: number | null;
  readonly part: string | null;
  readonly token: string | null;
}

/** What goes wrong with one request. */
export type Trouble =
  /** Nothing is done; this is the answer. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: http.OutgoingHttpHeaders;
      readonly body?: string;
    }
  /** Nothing is done, and the connection is cut. */
  | { readonly kind: 'cut' }
  /** It is done, and the connection is cut after this share of the reply's body; 0: before its headers. */
  | { readonly kind: 'lose'; readonly share: number }
  /** It is done, and the answer is where to look for it. */
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string }
  /** It is done, and the reply's text is changed. */
  | { readonly kind: 'change'; readonly change: (reply: string) => string };

/** Decides what goes wrong with a request, if anything. */
export type TroubleMaker = (request: SeenRequest) => Trouble | undefined;

/** A reply's `response`, to be changed by a test. */
// biome-ignore lint/suspicious/noExplicitAny: a test may make anything of it, and that is its purpose
export type Reply = any;

export interface Behaviour {
  /** Which poll of a folio is the first that says FINISHED; 2. */
  readonly finishedAtPoll?: (folio: OtherFolio) => number;
  /** What is answered of a record, `place` being its place in the upload from 0. */
  readonly answer?: (record: SentRecord, place: number) => Answer;
  /** The results as they are given out: in another order, with more or less of them. */
  readonly results?: (results: readonly OtherResult[], folio: OtherFolio) => readonly OtherResult[];
  readonly style?: (folio: OtherFolio) => PartStyle;
  /** Records of a successful part; 10,000. */
  readonly partRecords?: number;
  /** Number of the failed part; 0. */
  readonly failedPart?: number;
  readonly receipt?: (reply: Reply, folio: OtherFolio) => Reply;
  readonly tracking?: (reply: Reply, folio: OtherFolio) => Reply;
  readonly trouble?: TroubleMaker;
}
