/** The options of the fake service: what it answers, how its files look, and what goes wrong. */
import type http from 'node:http';
import type { Answer, FakeResult, PartStyle, SentRecord } from './parts.js';

export type Operation = 'upload' | 'track' | 'download' | 'search';

export interface FakeFolio {
  readonly id: string;
  readonly fileName: string;
  readonly description: string;
  readonly records: readonly SentRecord[];
  /** Number of the chunk in it, taken from the file name. */
  readonly chunk: number;
  /** Polls answered so far. */
  polls: number;
  finished: boolean;
  forgotten: boolean;
}

/** One request as it came. */
export interface SeenRequest {
  readonly operation: Operation;
  /** Which request of this operation it is, from 1. */
  readonly nth: number;
  /** Which request of this operation on this chunk (and part) it is, from 1. */
  readonly again: number;
  /** Null where the folio is not known, and for a search. */
  readonly chunk: number | null;
  readonly part: string | null;
  readonly token: string | null;
}

/** What goes wrong with one request. */
export type Trouble =
  /** The service does nothing and answers this. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: http.OutgoingHttpHeaders;
      readonly body?: string;
    }
  /** The service does nothing and cuts the connection. */
  | { readonly kind: 'cut' }
  /** The service does it and cuts the connection after this share of the reply's body; 0: before the headers. */
  | { readonly kind: 'lose'; readonly share: number }
  /** The service does it and answers with a redirect. */
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string }
  /** The service does it and changes the text of the reply. */
  | { readonly kind: 'change'; readonly change: (reply: string) => string };

/** Decides whether something goes wrong with a request, and what. */
export type TroubleMaker = (request: SeenRequest) => Trouble | undefined;

/** The member `response` of a reply. */
// biome-ignore lint/suspicious/noExplicitAny: a test changes it into any value, valid or not
export type Reply = any;

export interface Behaviour {
  /** The first poll of a folio that reports FINISHED; 2. */
  readonly finishedAtPoll?: (folio: FakeFolio) => number;
  /** The answer to a record; `index` counts the records of the upload from 0. */
  readonly answer?: (record: SentRecord, index: number) => Answer;
  /** Changes the results before they are cut into parts: another order, more or fewer of them. */
  readonly results?: (results: readonly FakeResult[], folio: FakeFolio) => readonly FakeResult[];
  readonly style?: (folio: FakeFolio) => PartStyle;
  /** Records in a successful part; 10,000. */
  readonly partRecords?: number;
  /** Number of the failed part; 0. */
  readonly failedPart?: number;
  /** Changes the reply to an upload. */
  readonly receipt?: (reply: Reply, folio: FakeFolio) => Reply;
  /** Changes the reply to a poll. */
  readonly tracking?: (reply: Reply, folio: FakeFolio) => Reply;
  readonly trouble?: TroubleMaker;
  /** The service has done what it was asked, and replies when this is resolved. */
  readonly hold?: (request: SeenRequest) => Promise<void> | undefined;
}
