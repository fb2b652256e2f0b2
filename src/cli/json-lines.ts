/** `--json`: one object a line on stdout, the last one of type `summary`. */
import { print, stdout } from './output.js';

type LineType = 'progress' | 'run' | 'check' | 'summary';

/** Beside work that goes on whether anybody reads it or not. */
export function writeJson(type: LineType, fields: object): void {
  stdout.write(lineOf(type, fields));
}

/** What a command is there to give. @throws TroubleError as `print` does. */
export async function printJson(type: LineType, fields: object): Promise<void> {
  await print(lineOf(type, fields));
}

function lineOf(type: LineType, fields: object): string {
  return `${JSON.stringify({ type, ...fields })}\n`;
}
