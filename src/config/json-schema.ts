/**
 * The JSON Schema of configs, for editors. The schema that checks configs gives what each key takes;
 * config/nightly.example.yaml, which explains every key, gives what it is for and its default.
 */
import { parse } from 'yaml';
import { z } from 'zod';
import { expectedAt } from './known-keys.js';
import { configSchema } from './schema.js';
import { isMap, type Key, type Tree } from './settings.js';

/** @param example the text of config/nightly.example.yaml. */
export function configJsonSchema(example: string): object {
  const raw = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  }) as Tree;
  const explained = explanations(example);
  const defaults: unknown = parse(example, { stringKeys: true });
  return {
    $schema: raw.$schema,
    title: 'Config of foliopipe',
    description: 'docs/configuration.md explains configs; foliopipe check shows what is missing in one.',
    ...withTexts(raw, [], explained, defaults),
  };
}

/** The schema of a key and of all keys in it. Nothing is required: another file, a variable or a flag may give it. */
function withTexts(schema: Tree, key: Key, explained: ReadonlyMap<string, string>, defaults: unknown): Tree {
  const { required: _, default: ownDefault, $schema: __, ...rest } = schema;
  const inner = mapOf(rest);
  const properties = isMap(inner?.properties) ? inner.properties : undefined;
  if (inner !== undefined && properties !== undefined) {
    inner.properties = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => {
        const value = isMap(defaults) ? defaults[name] : undefined;
        return [name, withTexts(one as Tree, [...key, name], explained, value)];
      }),
    );
    delete inner.required;
    if (key.length === 0) return rest;
    return { ...rest, description: explained.get(key.join('.')) ?? `Takes ${expectedAt(key)}.` };
  }
  const text = explained.get(key.join('.'));
  const expected = `Takes ${expectedAt(key)}.`;
  // Some keys are only in comments of the example. Their defaults in the schema are also how people write them.
  const value = defaults === undefined ? ownDefault : defaults;
  const hasDefault = value !== undefined && !JSON.stringify(value).includes('${');
  return {
    ...orVariable(rest),
    description: text === undefined ? expected : `${text}\n\n${expected}`,
    ...(hasDefault && !isGiven(key) && { default: value }),
  };
}

/** The part of a schema that describes a map: all of it, or one of its alternatives besides null. */
function mapOf(schema: Tree): Tree | undefined {
  if (isMap(schema.properties)) return schema;
  const ways = Array.isArray(schema.anyOf) ? (schema.anyOf as Tree[]) : [];
  return ways.find((way) => isMap(way.properties));
}

/** Accepts a text with a variable, too, whatever the type of the value. */
function orVariable(schema: Tree): Tree {
  const { description: _, ...rest } = withoutClasses(schema);
  const isAnyText = rest.type === 'string' && rest.pattern === undefined && rest.enum === undefined;
  return isAnyText ? rest : { anyOf: [rest, { type: 'string', pattern: '\\$\\{' }] };
}

/** Leaves out patterns with Unicode classes, which only some editors support. */
function withoutClasses(schema: Tree): Tree {
  const text = JSON.stringify(schema, (name, value: unknown) =>
    name === 'pattern' && typeof value === 'string' && /\\p\{/i.test(value) ? undefined : value,
  );
  return JSON.parse(text) as Tree;
}

/** Keys of the example that have no default: each config gives its own. */
function isGiven(key: Key): boolean {
  return ['pipeline', 'source.path', 'upload.columns', 'output.path'].includes(key.join('.'));
}

/** A line with a key, which may be commented out; and a line that continues an explanation. */
const KEY_LINE = /^(?<indent> *)(?:#(?<commented> +))?(?<name>\w+):(?: .*?)?(?: # (?<text>.*))?$/;
const REST_LINE = /^ *# (?<text>.*)$/;

/** What each key is for, by its dotted name. */
function explanations(example: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const parents: { readonly name: string; readonly indent: number }[] = [];
  let last: string | undefined;
  for (const line of example.split('\n')) {
    const at = KEY_LINE.exec(line)?.groups;
    if (at?.name !== undefined && (at.commented === undefined || last?.startsWith('load'))) {
      const indent = at.indent!.length + (at.commented === undefined ? 0 : 2);
      while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop();
      parents.push({ name: at.name, indent });
      last = parents.map(({ name }) => name).join('.');
      if (at.text !== undefined) found.set(last, at.text);
      continue;
    }
    const more = REST_LINE.exec(line)?.groups?.text;
    if (more !== undefined && last !== undefined && found.has(last))
      found.set(last, `${found.get(last)} ${more}`);
  }
  return found;
}
