/** Makes texts of the service safe to show: one short line without control characters and without the token. */
import { oneLine, shorten } from '../text.js';

/** A secret that only `reveal` gives, so that nothing prints it by accident. */
export interface TokenSecret {
  reveal(): string;
}

export type ServiceText = (text: string) => string;

const MAX_LENGTH = 200;
const HIDDEN = '[token]';

/** A shorter token is a part of too many words: it is hidden only where it is the whole text. */
const MIN_WITHIN = 4;

/**
 * @param token null: there is none.
 * @returns a function that replaces the token in a text, also where it is percent-encoded.
 */
export function hideToken(token: TokenSecret | null): ServiceText {
  if (token === null) return (text) => text;
  const secret = token.reveal();
  if (secret.length < MIN_WITHIN) return (text) => (text === secret && text !== '' ? HIDDEN : text);
  const encoded = [encodeURIComponent(secret), new URLSearchParams({ t: secret }).toString().slice(2)];
  // Longest first, because the encoded forms may contain the plain token.
  const forms = [...new Set([secret, ...encoded])].sort((a, b) => b.length - a.length);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
}

/** @returns a function from any text to one of at most 200 characters, in which the token is replaced. */
export function createServiceText(token: TokenSecret): ServiceText {
  const hide = hideToken(token);
  // Hides the token before and after: `oneLine` may join the parts of a token that was split.
  return (text) => shorten(hide(oneLine(hide(text))), MAX_LENGTH);
}
