/** Checks the options of a local service before anything is opened. One message lists all problems. */
import { checkCall } from '../check-call.js';
import { ConfigError } from '../errors.js';
import type { FaultPlan } from './faults/rule.js';

const PREDICTORS: readonly unknown[] = ['naics', 'hash'];

type Check = (value: unknown) => string | undefined;

const wholeNumber =
  (min: number, max = Number.MAX_SAFE_INTEGER): Check =>
  (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return undefined;
    return `must be a whole number from ${min}${max === Number.MAX_SAFE_INTEGER ? ' on' : ` to ${max}`}`;
  };

const checks: Readonly<Record<string, Check>> = {
  host: (value) =>
    typeof value === 'string' && value !== '' ? undefined : 'must be a host name or an address',
  port: wholeNumber(0, 65_535),
  token: (value) =>
    typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
      ? undefined
      : 'must have printable ASCII characters alone, and no spaces',
  predictor: (value) => (PREDICTORS.includes(value) ? undefined : "must be 'naics' or 'hash'"),
  segmentRecords: wholeNumber(1),
  recordsPerSecond: (value) =>
    Number.isFinite(value) && (value as number) >= 0
      ? undefined
      : 'must be a number from 0 on; 0 is no limit',
  maxOpen: wholeNumber(1),
  maxUploadBytes: wholeNumber(1),
  timeScale: (value) =>
    Number.isFinite(value) && (value as number) > 0 ? undefined : 'must be a number above 0',
};

/** @throws ConfigError `SERVICE_OPTIONS` that names every wrong option, and never the token; `FAULTS_INVALID`. */
export function checkOptions(options: { readonly faults?: FaultPlan | undefined }): void {
  checkCall('openService', { options });
  const lines: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    const problem = value === undefined ? undefined : check(value);
    if (problem !== undefined) lines.push(`\n  ${name}: ${problem}`);
  }
  if (lines.length > 0) {
    const count = lines.length === 1 ? 'an option is' : `${lines.length} options are`;
    throw new ConfigError('SERVICE_OPTIONS', `openService: ${count} wrong:${lines.join('')}`, {
      hint: 'docs/embedding.md lists the options; each has a default that suits a test',
    });
  }
  checkFaults(options.faults);
}

/** @throws ConfigError `FAULTS_INVALID` for what `parseFaults` cannot have made. */
export function checkFaults(faults: FaultPlan | undefined): void {
  if (faults === undefined) return;
  const { rules, seed } = (faults ?? {}) as { readonly rules?: unknown; readonly seed?: unknown };
  const isRule = (rule: unknown) => typeof (rule as { readonly fault?: unknown } | null)?.fault === 'object';
  if (typeof seed === 'number' && Array.isArray(rules) && rules.every(isRule)) return;
  throw new ConfigError('FAULTS_INVALID', 'the faults are not what parseFaults gives', {
    hint: 'pass parseFaults(text or object), or undefined for no faults',
  });
}
