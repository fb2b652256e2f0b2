/** Checks what is said of faults, once, at the edge. */
import { ConfigError } from '../../errors/index.js';
import { type FaultPlan, faultPlanSchema } from './rule.js';

/** Where a key stands, for messages; undefined where that is not known. */
export type Locate = (path: readonly PropertyKey[]) => string | undefined;

/**
 * @param given `{ seed, rules }`, with durations and shares as people write them.
 * @returns the plan, with every span in milliseconds.
 * @throws ConfigError `FAULTS_INVALID` that lists every problem.
 */
export function parseFaults(given: unknown, locate: Locate = () => undefined): FaultPlan {
  const parsed = faultPlanSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = new Map<string, string>();
  for (const { path, message } of parsed.error.issues) {
    const key = keyText(path);
    const place = locate(path);
    // A key's first problem is its cause, later ones are its consequences.
    if (!problems.has(key)) problems.set(key, `${message}${place === undefined ? '' : ` (${place})`}`);
  }
  const lines = [...problems].map(([key, problem]) => `\n  ${key}: ${problem}`);
  const count = lines.length === 1 ? 'a problem' : `${lines.length} problems`;
  throw new ConfigError('FAULTS_INVALID', `the faults have ${count}:${lines.join('')}`, {
    hint: 'docs/faults.md shows every fault with an example',
  });
}

/** `rules[1].fault.stall`. */
function keyText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text === '' ? 'the file' : text.replace(/^\./, '');
}
