/** The smallest valid config, for tests that add to it. */
import type { ConfigInput } from '../../../src/config/schema.js';
import { ConfigError } from '../../../src/errors.js';

/** With a real service, whose token is `t0ken`. */
export function minimal() {
  return {
    pipeline: 'nightly',
    source: { path: 'in.csv' },
    upload: { columns: { name: 'BusinessName' } },
    service: { baseUrl: 'https://predict.example', token: 't0ken' },
    output: { path: 'out.csv' },
  };
}

/** `minimal()` with some sections replaced. */
export function minimalWith(sections: Record<string, unknown>): ConfigInput {
  return { ...minimal(), ...sections } as ConfigInput;
}

/** Runs a function that must throw a ConfigError and returns the error. */
export async function configErrorOf(run: () => unknown): Promise<ConfigError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('no ConfigError was thrown');
}

/** `${NAME}`, kept apart from template literals. */
export function variable(inside: string): string {
  return `\${${inside}}`;
}
