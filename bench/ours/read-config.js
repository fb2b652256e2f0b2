/** The config that a case has written for its programs. */
import { readFileSync } from 'node:fs';
import { parseConfig } from '../../dist/bundle/index.js';

export function readConfig(file) {
  return parseConfig(JSON.parse(readFileSync(file, 'utf8')), '.');
}
