/**
 * Draws figures as SVG, each in two widths: text in an SVG shrinks with it, so a phone needs a drawing of its own.
 * With each figure go a title, a description, and a table of the same numbers.
 */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { safeLines } from '../text.js';
import { Html, html } from './html.js';

export interface Figure {
  /** Also the anchor on the page. */
  readonly id: string;
  readonly title: string;
  /** One or two sentences that say what is seen, with the main numbers. */
  readonly text: string;
  readonly legend?: readonly { readonly name: string; readonly color: string }[];
  /** @param width in pixels. */
  draw(width: number): Plot.PlotOptions;
  readonly table: Html;
}

const WIDE = 760;
const NARROW = 340;
const SMALL = 240;

const { document } = parseHTML('<html><body></body></html>');

export function figureOf({ id, title, text, legend, draw, table }: Figure): Html {
  const drawn = [WIDE, NARROW].map((width) => {
    const kind = width === WIDE ? 'wide' : 'narrow';
    return html`<div class="${kind}">${drawSvg(draw(width), width, { title, text, id: `${id}-${kind}` })}</div>`;
  });
  return html`<figure id="${id}"><figcaption><h2>${title}</h2><p>${text}</p></figcaption>
${legend && html`<ul class="legend">${legend.map(({ name, color }) => html`<li><span style="background:${color}"></span>${name}</li>`)}</ul>`}
${drawn}
<details><summary>The numbers as a table</summary><div class="scroll">${table}</div></details></figure>`;
}

/** A figure whose numbers are in a table that it shares with others. */
export type SmallFigure = Omit<Figure, 'legend' | 'table'>;

/** Small figures side by side. */
export function smallFigures(figures: readonly SmallFigure[]): Html {
  return html`<div class="small">${figures.map(({ id, title, text, draw }) => {
    return html`<div><h3>${title}</h3>${drawSvg(draw(SMALL), SMALL, { title, text, id })}<p>${text}</p></div>`;
  })}</div>`;
}

function drawSvg(
  options: Plot.PlotOptions,
  width: number,
  { title, text, id }: Pick<Figure, 'title' | 'text' | 'id'>,
): Html {
  const svg = Plot.plot({
    ...options,
    width,
    className: 'plot',
    document: document as never,
    style: { fontSize: '12px' },
  }) as unknown as SvgElement;
  // The page has these rules once, for all drawings.
  for (const style of svg.querySelectorAll('style')) style.remove();
  for (const [name, content] of [
    ['desc', text],
    ['title', title],
  ] as const) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name) as unknown as SvgElement;
    element.setAttribute('id', `${id}-${name}`);
    element.textContent = content;
    svg.prepend(element);
  }
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-labelledby', `${id}-title ${id}-desc`);
  // The drawing holds texts of the service, which may have control characters.
  return new Html(safeLines(svg.outerHTML));
}

/** The members of an element that are used here. The types of Plot are those of a browser. */
interface SvgElement {
  textContent: string | null;
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  querySelectorAll(selector: string): Iterable<{ remove(): void }>;
  prepend(element: SvgElement): void;
}
