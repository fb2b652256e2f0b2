/** Reads metrics as Prometheus does, with a parser that is not ours. */
import { expect } from 'vitest';

interface Metric {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: string;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metrics: readonly Metric[];
}

/** Gives each value by its name and labels, such as `last_run_records{origin=sent}`, without prefix and pipeline. */
export async function readMetrics(text: string, pipeline?: string): Promise<Record<string, number>> {
  const { default: parse } = (await import('parse-prometheus-text-format' as string)) as {
    default: (text: string) => Family[];
  };
  expect(text).toMatch(/\n$/);
  const families = parse(text);
  const names = families.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  return Object.fromEntries(
    families.flatMap(({ name, help, type, metrics }) => {
      expect({ name, type, help: help !== '' }).toEqual({ name, type: 'GAUGE', help: true });
      expect(name).toMatch(/^foliopipe_/);
      return metrics.map(({ labels = {}, value }) => {
        const { pipeline: of, ...others } = labels;
        expect(of).toBe(pipeline);
        const shown = Object.entries(others).map(([label, text]) => `${label}=${text}`);
        const key = `${name.slice('foliopipe_'.length)}${shown.length === 0 ? '' : `{${shown.join(',')}}`}`;
        return [key, Number(value)];
      });
    }),
  );
}
