/** Checks lines of `--json`, and what the webhook gets, against the JSON Schema that the package ships. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../config/events.schema.json'), 'utf8'),
);
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, validateFormats: false });
ajv.addSchema(schema, 'events');

/** What is wrong with an object; empty if it is as the schema says. */
function problemsOf(definition: string, value: unknown): string[] {
  const validate = ajv.getSchema(`events#/$defs/${definition}`);
  if (validate === undefined) return [`events.schema.json knows no line of type ${definition}`];
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
}

/** What is wrong with a line of `--json`. A line of the log is none. */
export function lineProblems(line: Readonly<Record<string, unknown>>): string[] {
  if ('level' in line) return [];
  return problemsOf(definitionOf(line), line);
}

/** What is wrong with the object that a webhook gets. */
export function endProblems(end: unknown): string[] {
  return problemsOf('end', end);
}

/** The definition that a line must fit, so that its problems are reported, rather than only that it fits no definition. */
function definitionOf(line: Readonly<Record<string, unknown>>): string {
  if (line.type === 'run') return 'runLine';
  if (line.type === 'upload' || line.type === 'search') return 'ledgerEntry';
  if (line.type !== 'summary') return String(line.type);
  if ('error' in line) return 'failure';
  return 'thisProcess' in line ? 'jobSummary' : 'otherSummary';
}
