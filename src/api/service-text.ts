/** Makes what the service says fit to be shown: one short line, no control characters, never the token. */
import { oneLine, shorten } from '../text.js';

/** A secret that can be read only by asking for it. */
export interface TokenSecret {
  reveal(): string;
}

export type ServiceText = (text: string) => string;

const MAX_LENGTH = 200;
const HIDDEN = '[token]';

/** @returns a function from any text to one of at most 200 characters, in which the token is replaced. */
export function createServiceText(token: TokenSecret): ServiceText {
  return (text) => {
    const secret = token.reveal();
    const forms = [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ t: secret }).toString().slice(2),
    ];
    // Longest first: the plain token may be a part of its encoded forms.
    const hide = (line: string): string =>
      forms
        .filter((form) => form !== '')
        .sort((a, b) => b.length - a.length)
        .reduce((rest, form) => rest.replaceAll(form, HIDDEN), line);
    // Hidden before and after: making one line of the text may join the parts of a token that was split.
    return shorten(hide(oneLine(hide(text))), MAX_LENGTH);
  };
}
