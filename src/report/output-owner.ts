/** One pipeline writes an output (rule "One writer", docs/architecture.md#one-writer): whose publication is there? */
import { ConfigError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import { escapeUnprintable } from '../text.js';
import { manifestPath } from './manifest.js';

/** The pipeline stands among the first lines of a manifest, before anything long. */
const HEAD_BYTES = 64 * 1024;

/**
 * @param pipeline the pipeline that is to write the output.
 * @throws ConfigError `OUTPUT_OF_OTHER_PIPELINE` when the manifest beside the output names another one.
 */
export async function refuseOtherPipeline(
  store: Pick<OutputStore, 'read'>,
  output: string,
  pipeline: string,
): Promise<void> {
  const manifest = manifestPath(output);
  const head = await store.read(manifest, HEAD_BYTES);
  const owner = head === undefined ? undefined : pipelineIn(Buffer.from(head).toString());
  if (owner === undefined || owner === pipeline) return;
  const name = escapeUnprintable(owner);
  throw new ConfigError(
    'OUTPUT_OF_OTHER_PIPELINE',
    `${output} was published by the pipeline ${name}, and two pipelines cannot write one output`,
    {
      hint: `give the pipeline ${pipeline} another output.path before its run begins; or, if ${name} no longer writes this output, move it away together with ${manifest} and run the same command again`,
      facts: { path: output, pipeline: name, manifest },
    },
  );
}

/** The value of the key as foliopipe writes it: on a line of its own, which no text within the file can imitate. */
function pipelineIn(manifest: string): string | undefined {
  const [, value] = /^ {2}"pipeline": ("(?:[^"\\\n]|\\.)*")/m.exec(manifest) ?? [];
  try {
    return value === undefined ? undefined : String(JSON.parse(value));
  } catch {
    return undefined;
  }
}
