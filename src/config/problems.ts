/** Collects every problem of a config, so that a person can correct all of them at once. */
import { ConfigError } from '../errors.js';
import { escapeUnprintable } from '../text.js';

interface Problem {
  readonly text: string;
  /** The origin of the value: a file with its line, a flag or a variable. */
  readonly origin: string | undefined;
}

/** Problems by key, in the order in which they were found. No text holds a secret. */
export class Problems {
  readonly #byKey = new Map<string, Problem>();

  /** Adds a problem, unless the key already has one: later problems follow from the first. */
  add(key: string, text: string, origin?: string): void {
    if (!this.#byKey.has(key)) this.#byKey.set(key, { text, origin });
  }

  /** @throws ConfigError `CONFIG_INVALID` with all problems, if there are any. */
  throwIfAny(): void {
    const count = this.#byKey.size;
    if (count === 0) return;
    const lines = [...this.#byKey].map(
      ([key, { text, origin }]) =>
        `\n  ${printable(`${key}: ${text}${origin === undefined ? '' : ` (${origin})`}`)}`,
    );
    throw new ConfigError(
      'CONFIG_INVALID',
      `the config has ${count === 1 ? 'a problem' : `${count} problems`}:${lines.join('')}`,
      {
        hint: `correct ${count === 1 ? 'it' : 'them'} and try again; config/nightly.example.yaml explains every key`,
        facts: Object.fromEntries([...this.#byKey].map(([key, { text }]) => [key, text])),
      },
    );
  }
}

/** Replaces characters that could control a terminal or reorder its text by their codes: keys come from files. */
function printable(line: string): string {
  return escapeUnprintable(line, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu);
}
