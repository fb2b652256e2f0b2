/**
 * The section `report`: where the end of a run is reported: in a page for people, in a file of metrics for Prometheus, and
 * to a webhook.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../../loopback.js';
import { HiddenText } from './hidden-text.js';
import { filePath } from './values.js';

/** node_exporter reads only files with this ending. */
const PROM = '.prom';

const webhook = z
  .string()
  .trim()
  .refine((text) => /^https?:$/.test(protocolOf(text)))
  .refine((text) => protocolOf(text) !== 'http:' || isLoopback(new URL(text)), {
    error: 'http:// would send the address and the summary unencrypted; it is accepted only for localhost',
  })
  .nullable()
  .describe('null, or an https:// address that takes a POST')
  .default(null);

export const reportSchema = z.strictObject({
  html: filePath
    .refine((path) => /\.html?$/i.test(path), { error: 'must end in .html' })
    .transform((path) => resolve(path))
    .nullable()
    .describe('null, or the path of a file that ends in .html')
    .default(null),
  textfile: filePath
    .refine((path) => path.endsWith(PROM), {
      error: `must end in ${PROM}: node_exporter reads no other file`,
    })
    .nullable()
    .describe(`null, or the path of a file that ends in ${PROM}`)
    .default(null),
  webhook,
});

type ParsedReport = Readonly<z.output<typeof reportSchema>>;

/** The section ready for use. */
export interface ReportConfig extends Omit<ParsedReport, 'webhook'> {
  readonly webhook: WebhookAddress | null;
}

export function resolveReport(parsed: ParsedReport): ReportConfig {
  return { ...parsed, webhook: parsed.webhook === null ? null : new WebhookAddress(parsed.webhook) };
}

/** The address of a webhook. Whoever knows it can post there, so only scheme and host are shown. */
export class WebhookAddress extends HiddenText {
  constructor(url: string) {
    super(new URL(url).href);
  }

  override secrets(): readonly string[] {
    const { href, pathname, search, searchParams, username, password } = new URL(this.reveal());
    // A short part is no secret. Hiding it would garble other texts.
    const parts = [`${pathname}${search}`, pathname, ...searchParams.values(), username, password].filter(
      (text) => text.length >= 8,
    );
    return [href, ...parts];
  }

  override toString(): string {
    const { protocol, host } = new URL(this.reveal());
    return `${protocol}//${host}/[secret]`;
  }
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}
