/** The keys of the schema, a description of the value that each key takes, and the message for an unknown key. */
import { z } from 'zod';
import { nearestName } from '../nearest-name.js';
import { configSchema } from './schema.js';
import type { Key } from './settings.js';

/** The schema of a key, or undefined when the key is unknown. */
export function schemaAt(key: Key): z.ZodType | undefined {
  return key.reduce<z.ZodType | undefined>((schema, part) => schema && childOf(schema, part), configSchema);
}

/** Whether a key takes a value. */
export function accepts(key: Key, value: unknown): boolean {
  return schemaAt(key)?.safeParse(value).success ?? false;
}

/** The keys of a section, or all sections if the key is empty; undefined if the key is not a section. */
export function keysOf(section: Key): readonly string[] | undefined {
  const schema = schemaAt(section);
  const inner = schema && unwrap(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : undefined;
}

/** Whether the value of a key is a map: a section, or a map of free names. */
export function takesMap(key: Key): boolean {
  const schema = schemaAt(key);
  return keysOf(key) !== undefined || (schema !== undefined && unwrap(schema) instanceof z.ZodRecord);
}

/** Every key that takes a value, such as `['chunks', 'maxRecords']` or `['pipeline']`. */
export const valueKeys: readonly Key[] = valueKeysUnder([]);

function valueKeysUnder(section: Key): readonly Key[] {
  return keysOf(section)?.flatMap((name) => valueKeysUnder([...section, name])) ?? [section];
}

/** A description of the value that a key takes. For a key inside a list, describes the list. */
export function expectedAt(key: Key): string {
  const section = keysOf(key);
  if (section) return `a map with the keys ${section.join(', ')}`;
  const schema = schemaAt(key);
  return schema ? describe(schema) : expectedAt(key.slice(0, -1));
}

/** The message for an unknown key: the right way to write it, the name that was probably meant, or the known names. */
export function unknownKey(key: Key): string {
  const name = key.at(-1) ?? '';
  const [section, ...rest] = name.split('.');
  if (rest.length > 0 && schemaAt([...key.slice(0, -1), section!, ...rest])) {
    return `unknown key; in a map it is written ${section}: { ${rest.join(': { ')}: ... }${' }'.repeat(rest.length - 1)}`;
  }
  const siblings = keysOf(key.slice(0, -1)) ?? [];
  const inOtherSection = valueKeys.find((known) => known.length > 1 && known.at(-1) === name)?.join('.');
  const meant = nearestName(name, siblings) ?? inOtherSection;
  return meant === undefined
    ? `unknown key; known here are ${siblings.join(', ')}`
    : `unknown key, did you mean ${meant}?`;
}

function childOf(schema: z.ZodType, part: string): z.ZodType | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType;
  if (!(inner instanceof z.ZodObject) || !Object.hasOwn(inner.shape, part)) return undefined;
  return inner.shape[part] as z.ZodType;
}

/** The description of a schema, or of the schema inside a default. */
function describe(schema: z.ZodType): string {
  if (schema.description !== undefined) return schema.description;
  const inner = unwrapOnce(schema);
  return inner === schema ? 'something else' : describe(inner);
}

/** The schema inside defaults and nullables. */
function unwrap(schema: z.ZodType): z.ZodType {
  const inner = unwrapOnce(schema);
  return inner === schema ? schema : unwrap(inner);
}

function unwrapOnce(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodNullable
    ? (schema.unwrap() as z.ZodType)
    : schema;
}
