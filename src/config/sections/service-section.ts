/** The section `service`: the local or the real service, its address and its token. */
import { join } from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../../loopback.js';
import { describeReadError, readSmallFile } from '../read-small-file.js';
import { HiddenText } from './hidden-text.js';
import { choice, filePath, flag, shortName } from './values.js';

const INSECURE =
  'http:// would send token and records unencrypted; it is accepted only for localhost, so write https://';

/** An address to which paths can be appended. http:// is accepted only if the token stays on this machine. */
const address = z
  .string()
  .transform((text, context): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (/^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/|$)/i.test(text)) {
      context.addIssue({ code: 'custom', message: `http:// is missing: write http://${text}` });
      return z.NEVER;
    }
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      context.addIssue({ code: 'custom' });
      return z.NEVER;
    }
    if (url.protocol === 'http:' && !isLoopback(url)) {
      context.addIssue({ code: 'custom', message: INSECURE });
    }
    return url.href.replace(/\/+$/, '');
  })
  .nullable()
  .describe('an https:// address without user, password, query and fragment')
  .default(null);

export const serviceSchema = z.strictObject({
  name: shortName
    .nullable()
    .describe('null, or a name of 1 to 64 letters, digits, dots, dashes and underscores')
    .default(null),
  embedded: flag.default(false),
  baseUrl: address,
  legacyBaseUrl: address,
  token: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]+$/)
    .refine((text) => !/^\$\w+$/.test(text), {
      error: `is the name of a variable without braces: write \${FOLIOPIPE_TOKEN}`,
    })
    .nullable()
    .describe('a token of visible ASCII characters without spaces')
    .default(null),
  tokenFile: filePath.nullable().describe('the path of a file that holds the token').default(null),
  tokenIn: choice(['query', 'header']).default('query'),
  requestsPerSecond: z.number().positive().describe('a number above 0').default(10),
});

/** The section as the schema gives it: the token may still be in its file. */
type ParsedService = Readonly<z.output<typeof serviceSchema>>;

/** The local service in this process, or a service at an address that takes a token. */
export type ServiceConfig =
  | (RequestOptions & {
      readonly embedded: true;
      readonly baseUrl: null;
      readonly legacyBaseUrl: null;
      readonly token: null;
    })
  | (RequestOptions & {
      readonly embedded: false;
      /** Without a slash at its end. */
      readonly baseUrl: string;
      readonly legacyBaseUrl: string | null;
      readonly token: Secret;
    });

interface RequestOptions {
  /** The identity of the service instead of its address; null: the address is the identity. */
  readonly name: string | null;
  readonly tokenIn: 'query' | 'header';
  readonly requestsPerSecond: number;
}

/**
 * The section ready for use, with the token read from its file.
 * @returns undefined when there is a problem, reported here or by `crossCheck`.
 */
export function resolveService(
  { name, embedded, baseUrl, legacyBaseUrl, tokenIn, requestsPerSecond, ...given }: ParsedService,
  onProblem: (key: string, text: string) => void,
): ServiceConfig | undefined {
  const options = { name, tokenIn, requestsPerSecond };
  if (embedded) return { ...options, embedded, baseUrl: null, legacyBaseUrl: null, token: null };
  const token = given.token ?? (given.tokenFile && readToken(given.tokenFile, onProblem));
  if (!token || baseUrl === null) return undefined;
  return { ...options, embedded, baseUrl, legacyBaseUrl, token: new Secret(token) };
}

/** The prefix of the address of an embedded service. */
export const EMBEDDED = 'embedded:';

/** The address of a service, or `embedded:<data folder>`. */
export function serviceAddress({
  service,
  stateDir,
}: {
  readonly service: Pick<ServiceConfig, 'embedded' | 'baseUrl'>;
  readonly stateDir: string;
}): string {
  return service.embedded ? `${EMBEDDED}${embeddedServiceFolder({ stateDir })}` : service.baseUrl!;
}

/** The folder in which the embedded service keeps its folios. */
export function embeddedServiceFolder({ stateDir }: { readonly stateDir: string }): string {
  return join(stateDir, 'service');
}

/** Holds a token. Every way of printing it gives `[secret]`; only `reveal()` gives the token, to send it. */
export class Secret extends HiddenText {
  override toString(): string {
    return '[secret]';
  }
}

const MAX_TOKEN_BYTES = 64 * 1024;

function readToken(path: string, onProblem: (key: string, text: string) => void): string | undefined {
  let token: string;
  try {
    token = readSmallFile(path, MAX_TOKEN_BYTES).toString().trim();
  } catch (error) {
    onProblem('service.tokenFile', `${path} cannot be read: ${describeReadError(error).words}`);
    return undefined;
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  onProblem('service.tokenFile', `${path} must hold one token of visible ASCII characters and nothing else`);
  return undefined;
}
