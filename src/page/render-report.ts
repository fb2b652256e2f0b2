/**
 * Renders the report on a run as one HTML page that needs nothing else: no network, no file beside it. What the service
 * or a source says is escaped, and the page's policy allows no script but its own.
 */
import { createHash } from 'node:crypto';
import type { ChunkTimes } from '../checkpoint/checkpoint.js';
import { countOf, formatBytes, formatCount, formatShare, formatSpan } from '../quantities.js';
import { partialText } from '../report/output-there.js';
import type { RunReport } from '../report/run-report.js';
import { intervalsOf, phases } from '../report/timeline.js';
import { MIN_NIGHTS, MIN_RECORDS } from '../report/unusual.js';
import { figureOf, smallFigures } from './draw.js';
import { type Cell, Html, html, tableOf } from './html.js';
import { codesFigure, confidenceFigure, failuresFigure } from './plot-answers.js';
import { nightFigures, nightsTable, spendFigure } from './plot-nights.js';
import { throughputFigure, timelineFigure } from './plot-timeline.js';
import { PRINTED, script, style } from './style.js';
import { moneyText, timeText } from './words.js';

export function renderReport(report: RunReport): string {
  const { summary, at, timeZone } = report;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'; base-uri 'none'; form-action 'none'`;
  const figures = [
    timelineFigure(report),
    throughputFigure(report),
    failuresFigure(report),
    codesFigure(report),
    confidenceFigure(report),
  ];
  const spend = spendFigure(report);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="generator" content="foliopipe">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${summary.pipeline} · run ${summary.run}</title>
<style>${new Html(style)}</style></head>
<body><header><h1>${summary.pipeline}</h1><p class="muted">run <code>${summary.run}</code>${report.label && html` · ${report.label}`}</p>
${statusOf(report)}</header><main>
${notesOf(report)}
${numbersOf(report)}
${factsOf(report)}
${report.timeline === null && html`<section><h2>Timeline</h2><p>${noTimes(report)}</p></section>`}
${figures.map((figure) => figure && figureOf(figure))}
${report.night?.predictions == null && noCodes()}
${nightsOf(report)}
${spend && figureOf(spend)}
${chunksOf(report)}
</main><footer><p class="muted">Made by foliopipe at ${timeText(at, timeZone)} (${timeZone}).</p></footer>
<script>${new Html(script)}</script></body></html>
`.text;
}

function statusOf({ summary, stopped }: RunReport): Html {
  const { state, exitCode, publication, rehearsal, confirmed, sample } = summary;
  const what = {
    done: [confirmed ? 'done, its rows are confirmed' : 'published', exitCode === 0 ? 'good' : 'warn'],
    withheld: ['complete, and withheld', 'warn'],
    open: [stopped === null ? 'unfinished' : 'stopped', stopped === null ? 'warn' : 'bad'],
    publishing: ['being published', 'warn'],
    superseded: ['replaced by a later run', 'warn'],
  }[state] as [string, string];
  return html`<p class="status ${what[1]}">${rehearsal && 'rehearsal: '}${sample !== null && `sample of ${countOf(sample, 'record')}: `}${what[0]}${publication !== null && state === 'done' && html` as publication ${publication}`}${exitCode !== null && html`, exit ${exitCode}`}</p>`;
}

/** What a person needs first: what is wrong, and what to type. */
function notesOf(report: RunReport): Html {
  const { summary, night, before, isCompared } = report;
  const { unusual } = summary;
  return html`
${stoppedBox(report)}${nextBox(report)}${helpBox(report)}
${summary.rehearsal && html`<div class="box">This is a rehearsal: a local service answered, and the predictions are not real.</div>`}
${unusual.length > 0 && html`<div class="box" id="unusual"><strong>Unlike the nights before</strong><ul>${unusual.map(({ text }) => html`<li>${text}</li>`)}</ul></div>`}
${night !== null && unusual.length === 0 && html`<p id="unusual" class="muted">${isCompared ? `Nothing is unusual, compared with the ${countOf(before.length, 'night')} before.` : `Not compared with other nights: that takes ${MIN_NIGHTS} nights before, with ${formatCount(MIN_RECORDS)} records each.`}</p>`}`;
}

function stoppedBox({ stopped }: RunReport): Html | null {
  if (stopped === null) return null;
  const { code, message, hint } = stopped;
  return html`<div class="box stop"><p><strong>${code}</strong>: ${message}</p>${hint && html`<p><strong>Next:</strong> ${hint}</p>`}</div>`;
}

function nextBox({ stopped, next, summary }: RunReport): Html | null {
  const { why, ways } = next;
  // The error of a stopped run says what to do.
  if ((why === null && ways.length === 0) || stopped !== null) return null;
  return html`<div class="box" id="next">${why && html`<p><strong>Exit ${summary.exitCode}</strong>: ${why}</p>`}
${ways.map(({ command, effect }, at) => html`<p><strong>${at === 0 ? 'Next' : 'Or'}:</strong> ${command !== '' && html`<code>${command}</code> `}${effect}</p>`)}</div>`;
}

/** Left out if the run's error names these chunks itself, because it waits for a decision about them. */
function helpBox({ help, stopped }: RunReport): Html | null {
  if (help.length === 0 || stopped?.hint?.includes('foliopipe adopt') === true) return null;
  return html`<div class="box" id="help"><strong>Chunks without an answer</strong><ul>${help.map((text) => html`<li>${text}</li>`)}</ul></div>`;
}

function numbersOf({ summary, timeline }: RunReport): Html {
  const { counts, origins, saved, uploads, chunks, paid, retried, inVain, state } = summary;
  const { read, successful, failed, unprocessed, rejected } = counts;
  const isOpen = state === 'open' || state === 'superseded';
  const rows = successful + failed + unprocessed;
  const answered = timeline?.records.answered.reduce((sum, one) => sum + one, 0) ?? 0;
  const number = (name: string, value: number, small?: string | null) =>
    html`<div><dt>${name}</dt><dd data-number="${name}">${formatCount(value)}${small && html` <small>${small}</small>`}</dd></div>`;
  return html`<dl class="numbers">
${number('read', read)}
${isOpen && [number('to send', origins.sent.records), number('answered', answered)]}
${rows > 0 && [number('successful', successful, formatShare(successful, rows)), number('failed', failed, formatShare(failed, rows))]}
${unprocessed > 0 && number('unprocessed', unprocessed)}
${rejected > 0 && number('rejected', rejected)}${!isOpen && number('sent', origins.sent.records)}
${origins.reused.records > 0 && number('reused', origins.reused.records)}
${origins.duplicates.records > 0 && number('duplicates', origins.duplicates.records)}
${origins.skipped.records > 0 && number('blank', origins.skipped.records)}
${number('paid for', paid.records, moneyText(paid.amount, paid.currency))}
${retried.records > 0 && number('sent again', retried.records)}
${inVain.records > 0 && number('in vain', inVain.records, moneyText(inVain.amount, paid.currency))}
${saved.records > 0 && number('saved', saved.records, moneyText(saved.amount, saved.currency))}
${number('uploads', uploads.accepted, uploads.ambiguous > 0 ? `${formatCount(uploads.ambiguous)} ambiguous` : null)}
${chunks.all !== null && number('chunks', chunks.all)}
</dl>`;
}

function factsOf(report: RunReport): Html {
  const { summary, source, timeZone } = report;
  const { createdAt, output, partial, columns, manifest, drift, delta, base, load } = summary;
  const fact = (name: string, value: string | Html) => html`<dt>${name}</dt><dd>${value}</dd>`;
  return html`<dl class="facts">
${fact('began', `${timeText(createdAt, timeZone)} (${timeZone})`)}
${endOf(report).map(([name, text]) => fact(name, text))}
${fact('service', summary.service)}
${source.slice(0, 5).map(({ name, bytes, records }) => fact('source', `${name} (${countOf(records, 'record')}, ${formatBytes(bytes)})`))}
${source.length > 5 && fact('', `and ${countOf(source.length - 5, 'more file')}`)}
${output && fact('output', `${output.data ?? output.path} (${countOf(output.records, 'record')}, ${formatBytes(output.bytes)})`)}
${partial && fact('partial', partialText(partial, report.at))}
${manifest && fact('manifest', manifest)}
${columns.length > 0 && fact('columns', columns.join(', '))}
${delta && fact('delta', `${formatCount(delta.added)} added, ${formatCount(delta.changed)} changed, ${formatCount(delta.removed)} removed${base == null ? ': no publication before to compare with' : ` since publication ${base.publication}`}`)}
${load && fact('load', `${load.table} of ${load.into}: ${load.state}${load.why === null ? '' : `, ${load.why}`}`)}
${drift && fact('drift', `${formatCount(drift.changed)} of ${countOf(drift.compared, 'answer')} that ${drift.compared === 1 ? 'was' : 'were'} bought again ${drift.changed === 1 ? 'has' : 'have'} changed`)}
</dl>`;
}

function endOf({ summary, night, stopped, timeZone, at }: RunReport): [name: string, text: string][] {
  const { createdAt, finishedAt } = summary;
  const after = (time: number) => `${timeText(time, timeZone)}, after ${formatSpan(time - createdAt)}`;
  const end = night?.ended ?? finishedAt;
  if (end !== null) return [['ended', after(end)]];
  return [[stopped === null ? 'seen at' : 'stopped', after(at)]];
}

function noTimes({ summary }: RunReport): string {
  if (summary.prunedAt !== null)
    return 'The results of this run were removed (retention.results, or runs prune), and the times of its chunks with them.';
  const { origins } = summary;
  return origins.sent.records === 0 ? 'Nothing was sent.' : 'Nothing has been sent yet.';
}

function noCodes(): Html {
  return html`<section id="codes"><h2>Codes</h2><p class="muted">Which codes were given, and with what confidence, is counted when an output is published and <code>result.report: { code: …, confidence: … }</code> names the columns.</p></section>`;
}

function nightsOf(report: RunReport): Html | null {
  const figures = nightFigures(report);
  if (report.before.length === 0) return null;
  return html`<section id="nights"><h2>Beside the nights before</h2><p class="muted">The large dot is this run, the dashed line the median of the ${countOf(report.before.length, 'night')} before.</p>
${smallFigures(figures)}
<details><summary>The numbers as a table</summary><div class="scroll">${nightsTable(report)}</div></details></section>`;
}

function chunksOf({ chunks, timeline, timeZone }: RunReport): Html | null {
  if (chunks.length === 0) return null;
  const end = timeline?.bins.to ?? 0;
  const all = timeline?.counted ?? chunks.length;
  const which =
    all > chunks.length
      ? `${formatCount(chunks.length)} of ${formatCount(all)} chunks: those without an answer, and those that took the longest. `
      : '';
  return html`<section id="chunks"><h2>Chunks</h2><p class="muted">${which}<span class="screen">Press a heading to sort.</span>${chunks.length > PRINTED && html`<span class="print">The first ${PRINTED} of them are printed.</span>`}</p>
<div class="scroll" tabindex="0">${tableOf(
    ['chunk', 'records', 'state', 'failed', 'attempts', ...phases, 'uploaded', 'folio'],
    chunks.map((chunk) => chunkRow(chunk, end, timeZone)),
    [0, 1, 3, 4, 5, 6, 7, 8, 9],
  )}</div></section>`;
}

function chunkRow(chunk: ChunkTimes, end: number, timeZone: string) {
  const spans = new Map(intervalsOf(chunk, end).map(({ phase, from, to }) => [phase, to - from]));
  const number = (value: number | null) => ({ text: value === null ? '–' : formatCount(value), value });
  const { state, cause, round } = chunk;
  return [
    number(chunk.number),
    number(chunk.records),
    `${state}${cause === null ? '' : ` (${cause})`}${round > 0 ? `, round ${round}` : ''}`,
    number(chunk.counts?.failed ?? null),
    number(chunk.attempt),
    ...phases.map((phase) => timeCell(spans.get(phase) ?? null)),
    timeText(chunk.uploadAt, timeZone),
    chunk.folio ?? '–',
  ];
}

function timeCell(time: number | null): Cell {
  return { text: time === null ? '–' : formatSpan(time), value: time };
}
