/** Turns what the HTTP library throws into a failure; its own error may hold the address, so it is not kept. */
import type { Failure } from './failure.js';

/** How OpenSSL and Node name a certificate that does not verify. */
const CERTIFICATE_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * @param began whether the request may have reached the service, be it in part.
 * @param show makes the message fit to be shown.
 */
export function networkFailure(error: unknown, began: boolean, show: (text: string) => string): Failure {
  const { code, message } = describe(error);
  if (!began && CERTIFICATE_CODES.has(code)) return { kind: 'certificate', code, message: show(message) };
  return { kind: began ? 'cut' : 'unsent', code, message: show(message) };
}

/** An error around another one (a proxy's, or one a tried address) is told by what is inside where it has no code. */
function describe(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'UNKNOWN', message: String(error) };
  if (error.cause instanceof Error) return describe(error.cause);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { code, message: error.message || code };
}
