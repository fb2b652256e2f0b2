/** Checks a tree section by section, so that a problem in one does not hide those of another. */
import { describeIssue } from './describe-issue.js';
import { keysOf, unknownKey } from './known-keys.js';
import { configSchema, type ParsedConfig } from './schema.js';
import type { Key, Tree } from './setting.js';

/** The sections that were right. With no problem told, these are all. */
export type Sections = Partial<ParsedConfig>;

/**
 * @param writtenAt gives a value as it was written, to be shown in a problem.
 * @param onProblem is told of every unknown key and every value that the schema refuses.
 */
export function parseSections(
  tree: Tree,
  writtenAt: (key: Key) => unknown,
  onProblem: (key: Key, text: string) => void,
): Sections {
  const sections: Record<string, unknown> = {};
  for (const name of Object.keys(tree)) {
    if (!Object.hasOwn(configSchema.shape, name)) onProblem([name], unknownKey([name]));
  }
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const value = tree[name] ?? (keysOf([name]) ? {} : undefined);
    const result = schema.safeParse(value);
    if (result.success) sections[name] = result.data;
    for (const issue of result.error?.issues ?? []) {
      for (const { key, text } of describeIssue(issue, name, writtenAt)) onProblem(key, text);
    }
  }
  return sections;
}
