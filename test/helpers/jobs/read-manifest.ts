/** Reads manifests, and checks each one against the JSON Schema that the package ships. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Manifest } from './fake-service-job.js';

type Node = { readonly [key: string]: unknown };

/** Refuses keys that the schema does not describe, which readers of it must ignore. */
function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, strict(value)])) as Node;
  return 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../config/manifest.schema.json'), 'utf8'),
);
const manifestSchema = z.fromJSONSchema(strict(schema) as Parameters<typeof z.fromJSONSchema>[0]);

/** What is wrong with a manifest; empty if it is as the schema says. */
export function manifestProblems(manifest: unknown): string[] {
  const { error } = manifestSchema.safeParse(manifest);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** The manifest beside an output. */
export async function readManifest(output: string): Promise<Manifest> {
  const manifest = JSON.parse(await readFile(`${output}.manifest.json`, 'utf8'));
  expect(manifestProblems(manifest)).toEqual([]);
  return manifest;
}
