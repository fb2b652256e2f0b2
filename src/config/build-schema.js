/** Writes config/schema.json, the JSON Schema of configs, from the built sources: `npm run build:schema`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { configJsonSchema } from '../../dist/src/config/json-schema.js';

const folder = new URL('../../config/', import.meta.url);
const schema = configJsonSchema(readFileSync(new URL('nightly.example.yaml', folder), 'utf8'));
writeFileSync(new URL('schema.json', folder), `${JSON.stringify(schema, null, 2)}\n`);
