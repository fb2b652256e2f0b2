/** What the schema knows: its keys, what each takes, and the known name nearest to a wrong one. */
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { configSchema } from './schema.js';
import type { Key } from './settings.js';

function unwrapOnce(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodNullable
    ? (schema.unwrap() as z.ZodType)
    : schema;
}

/** The schema under defaults and nulls, where the keys of a map are to be found. */
function unwrap(schema: z.ZodType): z.ZodType {
  const inner = unwrapOnce(schema);
  return inner === schema ? schema : unwrap(inner);
}

function childOf(schema: z.ZodType, part: string): z.ZodType | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType;
  if (!(inner instanceof z.ZodObject) || !Object.hasOwn(inner.shape, part)) return undefined;
  return inner.shape[part] as z.ZodType;
}

/** The schema of a key, or undefined where the key is not known. */
export function schemaAt(key: Key): z.ZodType | undefined {
  return key.reduce<z.ZodType | undefined>((schema, part) => schema && childOf(schema, part), configSchema);
}

/** The keys of a section (or, for the empty key, the sections); undefined where the key is no section. */
export function keysOf(section: Key): readonly string[] | undefined {
  const schema = schemaAt(section);
  const inner = schema && unwrap(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : undefined;
}

/** Every key that takes a value, such as `['chunks', 'maxRecords']` or `['pipeline']`. */
export const valueKeys: readonly Key[] = (keysOf([]) ?? []).flatMap(
  (name) => keysOf([name])?.map((inner) => [name, inner]) ?? [[name]],
);

/** What may stand at a key, in words; at a key inside a list, what may stand in the list. */
export function expectedAt(key: Key): string {
  const section = keysOf(key);
  if (section) return `a map with the keys ${section.join(', ')}`;
  const schema = schemaAt(key);
  return schema ? describe(schema) : expectedAt(key.slice(0, -1));
}

/** A description belongs to the schema on which it was put, which may lie under a default. */
function describe(schema: z.ZodType): string {
  if (schema.description !== undefined) return schema.description;
  const inner = unwrapOnce(schema);
  return inner === schema ? 'something else' : describe(inner);
}

/** The name nearest to a wrong one, where one is near enough to have been meant. */
export function nearest(wrong: string, names: readonly string[]): string | undefined {
  const name = closest(wrong, names);
  return distance(wrong, name) <= Math.max(2, Math.floor(name.length / 3)) ? name : undefined;
}

/** What to say of a key that is not known: the nearest name beside it, or its place, or what is known. */
export function unknownKey(key: Key): string {
  const name = key.at(-1) ?? '';
  const [section, ...rest] = name.split('.');
  if (rest.length > 0 && schemaAt([...key.slice(0, -1), section!, ...rest])) {
    return `unknown key; in a map it is written ${section}: { ${rest.join(': { ')}: ... }${' }'.repeat(rest.length - 1)}`;
  }
  const siblings = keysOf(key.slice(0, -1)) ?? [];
  const elsewhere = valueKeys.find((known) => known.length > 1 && known.at(-1) === name)?.join('.');
  const meant = nearest(name, siblings) ?? elsewhere;
  return meant === undefined
    ? `unknown key; known here are ${siblings.join(', ')}`
    : `unknown key, did you mean ${meant}?`;
}
