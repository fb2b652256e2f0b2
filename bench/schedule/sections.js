/** SCHEDULE.md: its measured sections are written again, each under its heading; everything else in it stays. */
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../SCHEDULE.md', import.meta.url);

/** Puts the text under the heading of this title, which the file must have. */
export function writeSection(title, text) {
  const sections = readFileSync(file, 'utf8').split(/^(?=## )/m);
  const place = sections.findIndex((section) => section.startsWith(`## ${title}\n`));
  if (place === -1) throw new Error(`SCHEDULE.md has no section "${title}"`);
  sections[place] = `## ${title}\n\n${text}\n\n`;
  writeFileSync(file, `${sections.join('').trimEnd()}\n`);
}
