/** Everything that is wrong with a config, gathered so that a person mends it in one go. */
import { ConfigError } from '../errors.js';
import { escapeUnprintable } from '../text.js';

interface Problem {
  readonly text: string;
  /** Where the value was written: a file with its line, a flag or a variable. */
  readonly origin: string | undefined;
}

/** Problems by key, in the order in which they were found. No text ever holds a secret. */
export class Problems {
  readonly #byKey = new Map<string, Problem>();

  /** Adds a problem; a key's first one is its cause, and later ones are its consequences: not added. */
  add(key: string, text: string, origin?: string): void {
    if (!this.#byKey.has(key)) this.#byKey.set(key, { text, origin });
  }

  /** @throws ConfigError `CONFIG_INVALID` with all problems, where there are any. */
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
        hint: 'mend what is named and run the same command again; config/nightly.example.yaml explains every key',
        facts: Object.fromEntries([...this.#byKey].map(([key, { text }]) => [key, text])),
      },
    );
  }
}

/** Keys come from files: what could act on a terminal, or change the order of what it shows, is written as its code. */
function printable(line: string): string {
  return escapeUnprintable(line, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu);
}
