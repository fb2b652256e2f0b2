/** A value that is never shown: however it is printed, the text is `[secret]`. */
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** Holds a token. Only `reveal()` gives it; call it where the token is sent. */
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
