/** A value that is used but never shown: however it is printed, `[secret]` comes out. */
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** Holds a token. Only `reveal()` gives it, at the place where it is sent. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
