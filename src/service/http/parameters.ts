/** Reads the parameters of a request, of which nothing is known yet. */
import { HttpRefusal } from './http-refusal.js';

/** The members of a query or a JSON body; none where it is no object. */
export function parameters(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}

/** @throws HttpRefusal 400 when the parameter is missing, empty or given more than once. */
export function requiredText(given: unknown, name: string): string {
  const value = parameters(given)[name];
  if (typeof value !== 'string' || value === '') throw new HttpRefusal(400, `${name} is missing`);
  return value;
}

/** @throws HttpRefusal 400 when the parameter is no whole number from 0 on. */
export function requiredNumber(given: unknown, name: string): number {
  const text = requiredText(given, name);
  if (!/^\d{1,9}$/.test(text)) throw new HttpRefusal(400, `${name} is not a whole number from 0 on`);
  return Number(text);
}
