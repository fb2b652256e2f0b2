/** Makes the error that ends a call, from its last failure and the decision about it. */
import {
  AmbiguousUploadError,
  BrokenReplyError,
  ConfigError,
  type ErrorFacts,
  FolioLostError,
  type FoliopipeError,
  OutageError,
  RefusedError,
} from '../errors.js';
import { formatDuration } from '../quantities.js';
import type { Doubt } from '../types.js';
import { BY_PROXY, type Failure, isRedirect, PROXY_DENIED } from './failure.js';
import { isPaid, type Operation } from './requests.js';
import type { Decision } from './retry-decision.js';

/** One call of an operation, for messages and logs. Nothing in it holds the token. */
export interface Call {
  readonly operation: Operation;
  /** Path of the request, without its query. */
  readonly path: string;
  /** Method and address for people, without the query. */
  readonly request: string;
  readonly facts: ErrorFacts;
}

/** Why a call is not tried again; `gave-up`: a retry would be possible, but its time is over. */
type Ending = Exclude<Decision['kind'], 'retry'> | 'gave-up';

export function finalError(ending: Ending, failure: Failure, call: Call): FoliopipeError {
  const what = describeFailure(failure);
  const facts = callFacts(call, failure);
  switch (ending) {
    case 'refused':
      return refusedError(failure, call, { ...facts, said: failure.message });
    case 'no-reply':
    case 'unreadable':
    case 'redirected':
      return ambiguousError(ending, what, call, facts);
    case 'lost':
      return new FolioLostError(
        'FOLIO_LOST',
        `${call.operation}: the service does not know folio ${call.facts.folio}: ${what}`,
        {
          hint: 'ask the service provider about this folio; a later foliopipe run asks for it again',
          facts,
        },
      );
    case 'broken':
      return new BrokenReplyError(
        'REPLY_BREAKS_INTERFACE',
        `${call.operation}: the service keeps answering for folio ${call.facts.folio} with what its interface does not allow: ${what}`,
        { hint: 'show the reply to the service provider, then run the same command again', facts },
      );
    case 'misconfigured':
      return misconfiguredError(failure, facts);
    case 'local':
    case 'gave-up':
      if (failure.kind === 'local') return failure.error;
      return new OutageError(
        'SERVICE_UNAVAILABLE',
        `${call.operation}: still failing after retry.giveUpAfter: ${what}${waitText(failure)}`,
        { hint: call.operation === 'search' ? SEARCH_AGAIN : GO_ON + orGiveUp(failure, call), facts },
      );
  }
}

/** The error for a failure that stays until a person has changed the config or the machine. */
export function misconfiguredError(failure: Failure, facts: ErrorFacts): ConfigError {
  const what = describeFailure(failure);
  if (facts.reason === PROXY_DENIED) {
    return new ConfigError('CONFIG_PROXY', what, {
      hint: 'write the user and password that the proxy knows into its address, as http://user:password@host:port, in which % is %25, @ is %40 and / is %2F; then run the same command again',
      facts,
    });
  }
  const owner = what.startsWith(BY_PROXY) ? "the proxy's" : "the service's";
  return new ConfigError('CONFIG_CERTIFICATE', `${owner} certificate does not verify: ${what}`, {
    hint: OUT_OF_TIME.has(String(facts.reason))
      ? `is the clock of this machine right (date)? if it is, a new certificate is needed: ask those who run that server; then ${GO_ON}`
      : 'check the address; for a private authority name its file in NODE_EXTRA_CA_CERTS',
    facts,
  });
}

/** Codes of Node for a certificate that is not valid at this time. */
const OUT_OF_TIME: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Statuses that may be about one part only; others are about the whole service. */
const OF_ONE_PART: ReadonlySet<number> = new Set([404, 409, 410, 500]);

/** A part that cannot be fetched may stay so: then a person may give its folio up. */
function orGiveUp(failure: Failure, { operation, facts }: Call): string {
  const isOfPart =
    failure.kind === 'malformed' || (failure.kind === 'status' && OF_ONE_PART.has(failure.status));
  if (!isOfPart || operation !== 'download') return '';
  return `;\nif folio ${facts.folio} cannot be fetched later either, ask the service provider about it, or give it up: foliopipe abandon --run RUN --chunk CHUNK, with its run and chunk, which foliopipe status shows`;
}

const GO_ON = 'run the same command again: it goes on where this one stopped';
const ANSWER_HERE =
  'if the service has moved, ask its provider to answer here until this run is done, because its folios are asked for at this address only';
const SEARCH_AGAIN = 'the search was not accepted and is not paid: run the same command again';

/** A failure in one line. */
export function describeFailure(failure: Failure): string {
  if (failure.kind === 'malformed') return failure.message;
  if (failure.kind !== 'status') return `${failure.message} (${failure.code})`;
  return failure.message === '' ? `HTTP ${failure.status}` : `HTTP ${failure.status}: ${failure.message}`;
}

function waitText(failure: Failure): string {
  if (failure.kind !== 'status' || failure.retryAfter === null) return '';
  return `; the service asks to wait ${formatDuration(failure.retryAfter)}`;
}

/** Facts of a call and its last failure, for errors and logs. */
export function callFacts(call: Call, failure: Failure): ErrorFacts {
  const cause =
    failure.kind === 'status'
      ? { status: failure.status }
      : { reason: failure.kind === 'malformed' ? 'MALFORMED_REPLY' : failure.code };
  return { operation: call.operation, path: call.path, ...call.facts, ...cause };
}

function ambiguousError(doubt: Doubt, what: string, call: Call, facts: ErrorFacts): AmbiguousUploadError {
  const isSearch = call.operation === 'search';
  const message = `${call.operation}: it is unknown whether the service accepted it: ${what}`;
  if (doubt === 'redirected') {
    const address = isSearch ? 'service.legacyBaseUrl' : 'service.baseUrl';
    const stay = isSearch ? '' : `${ANSWER_HERE}; else `;
    const anew = isSearch ? '' : ' and start a new run with foliopipe run --new --yes, which pays again';
    const hint = `redirects are never followed, and the request may be accepted and paid for: look at the service; ${stay}write the right address into ${address}${anew}`;
    return new AmbiguousUploadError('SERVICE_REDIRECTS', message, { doubt, hint, facts });
  }
  const hint = isSearch
    ? 'the same command asks again, and may pay again; foliopipe ledger counts this one as possibly paid'
    : 'if the service lists the file, bind it: foliopipe adopt --run RUN --chunk CHUNK FOLIO; if it is sent again, it may be paid twice';
  const code = isSearch ? 'AMBIGUOUS_SEARCH' : 'AMBIGUOUS_UPLOAD';
  return new AmbiguousUploadError(code, message, { doubt, hint, facts });
}

function refusedError(failure: Failure, call: Call, facts: ErrorFacts): RefusedError {
  const status = failure.kind === 'status' ? failure.status : 0;
  if (call.operation === 'search' && status === 404 && failure.kind === 'status' && failure.fromService) {
    const hint = `the search counts as not paid. Try another name or address; if no search finds anything: is service.legacyBaseUrl right? ${call.request} answered 404`;
    const text = `search: the service finds nothing: ${describeFailure(failure)}`;
    return new RefusedError('SEARCH_NO_MATCH', text, { hint, facts });
  }
  const { code, hint } = refusalOf(status, call);
  const refused = NO_OPERATION.has(status) ? `${call.request} answers` : 'the service refuses:';
  return new RefusedError(code, `${call.operation}: ${refused} ${describeFailure(failure)}`, { hint, facts });
}

/** Statuses of a server that does not have this operation at this address, or not with this method. */
const NO_OPERATION: ReadonlySet<number> = new Set([404, 405, 410, 501]);

interface Refusal {
  readonly code: string;
  readonly hint: string;
}

function refusalOf(status: number, call: Call): Refusal {
  const key = call.operation === 'search' ? 'service.legacyBaseUrl' : 'service.baseUrl';
  if (isRedirect(status)) {
    const moved = call.facts.folio === undefined ? '' : `${ANSWER_HERE}; else `;
    const hint = `redirects are never followed; ${moved}write the right address into ${key}`;
    return { code: 'SERVICE_REDIRECTS', hint };
  }
  // Only an upload has a file that may be too large.
  const known = status === 413 && call.operation !== 'upload' ? undefined : REFUSALS[status];
  if (known !== undefined) return known;
  const code = 'SERVICE_REFUSED';
  // These may be about the request itself; any other status suggests that the address is wrong.
  if (status === 400 || status === 409 || status === 422) {
    const hint = `ask the service provider why ${call.request} answers this, then run the same command again`;
    return { code, hint };
  }
  const what =
    status === 501 || status === 405
      ? 'what answers there takes no such request: is it a web server for files, or a proxy? '
      : '';
  const paid = isPaid(call.operation)
    ? '; nothing was paid for this request; once the cause is removed, run the same command again'
    : '';
  return {
    code,
    hint: `is ${key} right? ${what}foliopipe check tries the address without paying${paid}`,
  };
}

const REFUSALS: Readonly<Record<number, Refusal>> = {
  401: {
    code: 'TOKEN_REFUSED',
    hint: 'check the token (variable FOLIOPIPE_TOKEN, or service.token or tokenFile) and service.tokenIn; foliopipe check tries them without paying; then run the same command again',
  },
  402: {
    code: 'QUOTA_REFUSED',
    hint: 'renew the quota with the service provider, then run the same command again',
  },
  403: {
    code: 'TOKEN_REFUSED',
    hint: 'ask the service provider what this token may do, then run the same command again',
  },
  413: { code: 'FILE_TOO_LARGE', hint: 'lower chunks.maxBytes and start with --new' },
};
