/** `--json`: one object a line on stdout, the last one of type `summary`. */
export function writeJson(type: 'progress' | 'run' | 'check' | 'summary', fields: object): void {
  process.stdout.write(`${JSON.stringify({ type, ...fields })}\n`);
}
