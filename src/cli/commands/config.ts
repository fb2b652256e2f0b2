/** `foliopipe config show`: every key of the config with its value, and where the value comes from. */
import { createRequire } from 'node:module';
import type { Command } from 'commander';
import {
  type ExplainedKey,
  explainConfig,
  type FrozenValues,
  frozenValues,
} from '../../../pipelines/index.js';
import { escapeUnprintable, safeJson } from '../../text.js';
import { type CommonOptions, layersOf, readConfig, withCommonOptions } from '../common-options.js';
import { print, printJson } from '../output.js';

interface Options extends CommonOptions {
  readonly origins?: boolean;
}

export function addConfig(config: Command): void {
  const command = config
    .command('show')
    .description(
      'list every key with its value, from defaults, files, environment and flags; secrets are masked',
    )
    .argument('[file]', 'config file')
    .option('--origins', 'also show where each value comes from');
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    const keys = await explainConfig(layersOf(options, file, 'preview'), defaultOf);
    const hasOrigins = options.json === true || options.origins === true;
    const frozen = hasOrigins ? await frozenValues(await readConfig(options, file, 'nothing')) : undefined;
    if (options.json) {
      for (const { key, value = null, origin } of keys) {
        await printJson('key', { key, value, origin, frozenBy: frozenBy(key, frozen)?.run ?? null });
      }
      await printJson('summary', { keys: keys.length, exitCode: 0 });
    } else await print(tableOf(keys, hasOrigins, frozen));
  });
}

interface SchemaNode {
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly anyOf?: readonly SchemaNode[];
}

/** The default of a key as people write it, from the JSON Schema that the package ships. */
function defaultOf(key: readonly string[]): unknown {
  const schema = createRequire(import.meta.url)('foliopipe/schema.json') as SchemaNode;
  const inner = (node: SchemaNode) =>
    node.properties ?? node.anyOf?.find((way) => way.properties)?.properties;
  return key.reduce<SchemaNode | undefined>((node, part) => node && inner(node)?.[part], schema)?.default;
}

const MOST = 60;

/** The unfinished run that accepts only its own value of a key; with that value, or null if the config has the same. */
function frozenBy(key: string, frozen: FrozenValues | undefined) {
  const value = frozen?.values[key];
  return frozen === undefined || value === undefined ? undefined : { run: frozen.run, value };
}

function originText({ key, origin }: ExplainedKey, frozen: FrozenValues | undefined): string {
  const from = origin ?? 'default';
  const by = frozenBy(key, frozen);
  if (by === undefined) return from;
  return `${from}, frozen by run ${by.run}${by.value === null ? '' : ` with ${by.value}`}`;
}

/** Leaves out keys without a value. */
function tableOf(
  keys: readonly ExplainedKey[],
  hasOrigins: boolean,
  frozen: FrozenValues | undefined,
): string {
  const shown = keys.filter(({ value }) => value !== undefined);
  const texts = shown.map(({ value }) =>
    typeof value === 'string' ? escapeUnprintable(value) : safeJson(value),
  );
  const keyWidth = Math.max(...shown.map(({ key }) => key.length));
  const width = Math.min(MOST, Math.max(...texts.map((text) => text.length)));
  const lines = shown.map((one, at) => {
    const value = texts[at]!;
    const from = hasOrigins ? `  ${escapeUnprintable(originText(one, frozen))}` : '';
    return `${one.key.padEnd(keyWidth)}  ${hasOrigins ? value.padEnd(width) : value}${from}`;
  });
  return `${lines.join('\n')}\n`;
}
