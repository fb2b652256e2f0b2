/** Who answers and how it is reached: the section `service`. */
import { z } from 'zod';
import { choice, filePath, flag } from './leaves.js';

/** An address to which paths can be appended; http:// only where the token does not leave the machine. */
const address = z
  .string()
  .transform((text, context): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      context.addIssue({ code: 'custom' });
      return z.NEVER;
    }
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      context.addIssue({ code: 'custom', message: INSECURE });
    }
    return url.href.replace(/\/+$/, '');
  })
  .nullable()
  .describe('an https:// address without user, password, query and fragment')
  .default(null);

const INSECURE =
  'http:// would send token and records in the clear; it is accepted only for localhost, so write https://';

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

export const serviceSchema = z.strictObject({
  embedded: flag.default(false),
  baseUrl: address,
  legacyBaseUrl: address,
  token: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]+$/)
    .nullable()
    .describe('a token of visible ASCII characters without spaces')
    .default(null),
  tokenFile: filePath.nullable().describe('the path of a file that holds the token').default(null),
  tokenIn: choice(['query', 'header']).default('query'),
  requestsPerSecond: z.number().positive().describe('a number above 0').default(10),
});
