/** A source of many files: what each file costs by itself. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { measureClient } from '../measure-client.js';

/** Where the records of the generated source begin (generate.js). */
const RECORD_START = /^(?=A\d{8},)/m;

/** Prepares the shape of this many files, which together have the records of the plain shape. */
export function inFiles(count) {
  return async (lab, records) => {
    const folder = lab.emptyFolder(`source-in-${count}`);
    const [header, ...all] = readFileSync(await lab.source(records), 'utf8').split(RECORD_START);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < count; file += 1) {
      const from = Math.floor((file * all.length) / count);
      const to = Math.floor(((file + 1) * all.length) / count);
      const name = `${folder}/part-${String(file).padStart(5, '0')}.csv`;
      writeFileSync(name, header + all.slice(from, to).join(''));
    }
    return () => measureClient(lab.emptyFolder('shape-files'), `${folder}/*.csv`);
  };
}
