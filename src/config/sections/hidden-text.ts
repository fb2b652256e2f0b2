/** Texts that must not be printed: a token, and the addresses of databases and webhooks. */
import { inspect } from 'node:util';

/** Every way of printing it gives `toString()`. Only `reveal()` gives the text, to use it. */
export abstract class HiddenText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  /** The texts that must appear nowhere. */
  secrets(): readonly string[] {
    return [this.reveal()];
  }

  /** What may be shown of it. */
  abstract toString(): string;

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
