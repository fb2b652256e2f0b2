/**
 * Judges what the service has answered to `foliopipe check`; pure. The interface says nothing about errors, so if the
 * answers prove nothing, the verdict is `unsure` and quotes them.
 */
import { type Failure, isBusy } from '../../api/failure.js';
import { misconfiguredError } from '../../api/final-error.js';
import type { Probe, ProbeReply, ServiceProbes } from '../../api/probe-service.js';
import { searchAddressMissing } from '../../api/requests.js';
import { ConfigError, FoliopipeError, OutageError, RefusedError } from '../../errors.js';
import { isLoopback } from '../../loopback.js';
import { formatDuration } from '../../quantities.js';

export interface Verdict {
  /** `unsure`: no fault was found, but it cannot be known without paying whether all is well. */
  readonly outcome: 'ok' | 'unsure' | 'failed';
  readonly text: string;
  readonly error: FoliopipeError | null;
}

interface ServiceVerdicts {
  readonly service: Verdict;
  readonly token: Verdict;
}

/** @param address of the service, for messages. */
export function judgeService(probes: ServiceProbes, address: string): ServiceVerdicts {
  const { asked, wrongPath } = probes;
  if (!('reply' in asked)) return { service: judgeFailure(asked.failure, address), token: UNANSWERED };
  const { reply } = asked;
  if (reply.status === 401 || reply.status === 403) return judgeRefusal(reply, wrongPath, address);
  const service = judgeReply(reply, wrongPath, address);
  return {
    service,
    token: service.outcome === 'failed' ? NOT_THE_SERVICE : judgeToken(reply, probes.wrongToken),
  };
}

/** The verdicts when nothing could be asked, for example because a proxy's address is not valid. */
export function unaskedVerdicts(error: unknown): ServiceVerdicts {
  if (!(error instanceof FoliopipeError)) throw error;
  return { service: failed(error), token: UNANSWERED };
}

/** The verdict on the address of the single-record search. Any HTTP reply passes: only a paid search would show more. */
export function judgeSearch(probe: Probe | null, address: string | null): Verdict {
  if (probe === null || address === null) {
    return failed(searchAddressMissing());
  }
  if (!('reply' in probe)) return judgeFailure(probe.failure, address, 'service.legacyBaseUrl');
  const { status } = probe.reply;
  if (isBusy(status)) return failed(busyError(probe.reply, address));
  return unsure(
    `${address} answers (HTTP ${status}); whether it is the search cannot be told without a paid one`,
  );
}

const UNANSWERED: Verdict = unsure('not known, because the service did not answer');
const NOT_THE_SERVICE: Verdict = unsure('not known: what answered says nothing about it');

/** Codes for something that does not speak HTTP, or does not speak TLS, at this address. */
const NOT_HTTP = /^(HPE_|EPROTO|ERR_SSL|ERR_TLS)/;

/** @param key the config key of the address. */
function judgeFailure(failure: Failure, address: string, key = 'service.baseUrl'): Verdict {
  const { message } = failure;
  const code = 'code' in failure ? failure.code : failure.kind;
  const facts = { address, reason: code };
  if (failure.kind === 'misconfigured') return failed(misconfiguredError(failure, facts));
  if (NOT_HTTP.test(code)) {
    return failed(
      wrongAddress(
        `what answers at ${address} does not speak its protocol: ${message} (${code})`,
        facts,
        key,
      ),
    );
  }
  const isReply = failure.kind === 'cut' || failure.kind === 'malformed';
  const what = isReply ? `${address} gives no complete answer` : `nothing answers at ${address}`;
  const text = `${what}: ${REASONS[code] ?? message} (${code})`;
  return failed(new OutageError('SERVICE_UNAVAILABLE', text, { hint: hintFor(code, address, key), facts }));
}

/** The most common codes of the system, in words. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no program listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ENETUNREACH: 'there is no network to it',
  EHOSTUNREACH: 'there is no route to it',
};

function hintFor(code: string, address: string, key: string): string {
  if (code === 'ENOTFOUND') return `correct the host in ${key}, or look at the network and the proxy`;
  if (code === 'ECONNREFUSED' && isLoopback(new URL(address))) {
    return `start what should listen there (the local service: foliopipe serve), or correct ${key}; then run the same command again`;
  }
  return `look at ${key}, the network and the proxy; else wait and run the same command again`;
}

/** A framework's words about a path of the interface that it does not have, such as `Cannot GET /.../file/info`. */
const ABOUT_PATH = /\/info\b/;

function judgeReply(reply: ProbeReply, wrongPath: Probe | null, address: string): Verdict {
  const { status, body } = reply;
  const answered = `${address} answers ${saidBy(reply)}`;
  const facts = { address, status };
  if (reply.redirectsTo !== null) {
    return failed(wrongAddress(`${address} redirects to ${reply.redirectsTo} (HTTP ${status})`, facts));
  }
  if (status === 402) {
    const hint = 'renew the quota with the service provider, then run the same command again';
    return failed(new RefusedError('QUOTA_REFUSED', answered, { hint, facts }));
  }
  const isSuccess = status >= 200 && status <= 299;
  const hasPath = isOther(reply, wrongPath);
  if (isBusy(status)) {
    if (status !== 500 || body !== 'object' || hasPath !== true) return failed(busyError(reply, address));
    return unsure(`${answered}: it fails now, or only for a folio that it does not know`);
  }
  const isInForm = body === 'object' && (reply.hasMessage || reply.hasResponse);
  if (status === 404 && hasPath === false && isInForm && !ABOUT_PATH.test(reply.said)) {
    return unsure(
      `${answered}, in the form of the service, but at a wrong path too: whether it has this path cannot be told without paying`,
    );
  }
  if (status === 405 || (hasPath === false && !(isSuccess && reply.hasMessage && reply.hasResponse))) {
    return failed(
      wrongAddress(`${answered}, at this path as at any other: the service has no such path`, facts),
    );
  }
  if (body === 'html' && isSuccess) {
    return failed(wrongAddress(`${answered}: a web page, not an answer of the service`, facts));
  }
  if (isSuccess ? reply.hasResponse : reply.hasMessage || reply.hasResponse) {
    return ok(`${address} answers as the service does${reply.isLocal ? ' (a local service)' : ''}`);
  }
  return unsure(
    `something answers at ${address}; whether it is the service cannot be told: ${saidBy(reply)}`,
  );
}

const CHECK_TOKEN =
  'check the token (variable FOLIOPIPE_TOKEN, or service.token or tokenFile) and service.tokenIn';

/** 401 and 403. A gateway may refuse every path in this way. */
function judgeRefusal(reply: ProbeReply, wrongPath: Probe | null, address: string): ServiceVerdicts {
  const isForeign = reply.body === 'html' || isOther(reply, wrongPath) === false;
  const text = `refused: ${saidBy(reply)}`;
  const hint = isForeign
    ? 'the address refuses any path in this way: check service.baseUrl and the proxy, then service.token and service.tokenIn'
    : reply.status === 401
      ? CHECK_TOKEN
      : 'ask the service provider what this token may do';
  const error = new RefusedError('TOKEN_REFUSED', text, { hint, facts: { address, status: reply.status } });
  const service = isForeign
    ? unsure(`something answers at ${address}; whether it is the service cannot be told: ${saidBy(reply)}`)
    : ok(`${address} answers, and refuses the token`);
  return { service, token: failed(error) };
}

/** Whether the words are about the token. Looked at only if a wrong token gets the same answer. */
const ABOUT_TOKEN = /token|api.?key|credential|unauthori[sz]ed|forbidden/i;

function judgeToken(reply: ProbeReply, wrongToken: Probe | null): Verdict {
  const isAccepted = isOther(reply, wrongToken);
  if (isAccepted === true) {
    const { status } = (wrongToken as { reply: ProbeReply }).reply;
    return ok(`accepted: a wrong one gets another answer (HTTP ${status})`);
  }
  if (isAccepted === undefined) return unsure('not known: it could not be compared with a wrong one');
  if (ABOUT_TOKEN.test(reply.said) && !reply.redirectsTo) {
    const details = { hint: CHECK_TOKEN, facts: { status: reply.status } };
    return failed(new RefusedError('TOKEN_REFUSED', `refused: ${saidBy(reply)}`, details));
  }
  return unsure(`not known: a wrong one gets the same answer, ${saidBy(reply)}`);
}

/** Whether the other answer differs; undefined if there is none to compare with. */
function isOther({ gist }: ProbeReply, other: Probe | null): boolean | undefined {
  if (other === null || !('reply' in other) || isBusy(other.reply.status)) return undefined;
  return other.reply.gist !== gist;
}

function saidBy({ status, body, said }: ProbeReply): string {
  const kinds = {
    object: '',
    json: ' with other JSON',
    html: ' with a web page',
    text: '',
    empty: ' with nothing',
  };
  return `HTTP ${status}${kinds[body]}${said === '' ? '' : `: ${said}`}`;
}

function busyError(reply: ProbeReply, address: string): OutageError {
  const { status, retryAfter } = reply;
  return new OutageError('SERVICE_UNAVAILABLE', `${address} answers ${saidBy(reply)}`, {
    hint: retryAfter
      ? `wait ${formatDuration(retryAfter)}, as the service asks, then run the same command again`
      : 'wait and run the same command again',
    facts: { address, status },
  });
}

const OPERATION_PATH = '/naics/naics/external/upload';

function wrongAddress(text: string, facts: FoliopipeError['facts'], key = 'service.baseUrl'): ConfigError {
  const hint = `write the right address into ${key}, without the paths of the operations, such as ${OPERATION_PATH}`;
  return new ConfigError('SERVICE_WRONG_ADDRESS', text, { hint, facts });
}

function ok(text: string): Verdict {
  return { outcome: 'ok', text, error: null };
}

export function unsure(text: string): Verdict {
  return { outcome: 'unsure', text, error: null };
}

function failed(error: FoliopipeError): Verdict {
  return { outcome: 'failed', text: error.message, error };
}
