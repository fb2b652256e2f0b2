/** Makes texts of the service safe to show: one short line without control characters and without the token. */
import { oneLine, shorten } from '../text.js';

/** A secret that only `reveal` gives, so that nothing prints it by accident. */
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
    // Longest first, because the encoded forms may contain the plain token.
    const hide = (line: string): string =>
      forms
        .filter((form) => form !== '')
        .sort((a, b) => b.length - a.length)
        .reduce((rest, form) => rest.replaceAll(form, HIDDEN), line);
    // Hides the token before and after: `oneLine` may join the parts of a token that was split.
    return shorten(hide(oneLine(hide(text))), MAX_LENGTH);
  };
}
