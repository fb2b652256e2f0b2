/** The page's style and its only script. */

/** How many chunks are printed. */
export const PRINTED = 40;

/** The colors of a light page, and of paper. */
const LIGHT = `--text:#1d2329;--muted:#5c6670;--line:#d5dae0;--back:#fff;--panel:#f4f6f8;
--bar:#3467ad;--bad:#b5382c;--good:#1d7a46;--warn:#8a5a00;--warn-back:#fff4db;
--waiting:#a3abb3;--uploading:#3467ad;--processing:#d98a1f;--downloading:#2a9d8f;--merging:#8e5aa8`;

export const style = `
:root{color-scheme:light dark;${LIGHT}}
@media (prefers-color-scheme:dark){:root{--text:#e4e8ec;--muted:#9da7b1;--line:#39414a;--back:#14181c;--panel:#1e242a;
--bar:#6ba1ea;--bad:#ec7b6d;--good:#5fc48c;--warn:#f0bf5c;--warn-back:#33290f;
--waiting:#6d767f;--uploading:#6ba1ea;--processing:#e3a244;--downloading:#4fc0b1;--merging:#bd8fd6}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:50rem;padding:1.25rem 1rem 3rem;font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:0}h3{font-size:.95rem;margin:0}
p{margin:.25rem 0}.muted,figcaption p,.small p{color:var(--muted)}
a{color:inherit}code{font:.92em ui-monospace,monospace}
section,figure{margin:2.25rem 0 0}
.status{display:inline-block;margin:.5rem 0;padding:.1rem .6rem;border-radius:1rem;border:1.5px solid;font-weight:600}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.box{margin:1rem 0 0;padding:.6rem .9rem;border-left:4px solid var(--warn);background:var(--warn-back)}
.box.stop{border-color:var(--bad)}.box code{user-select:all;background:var(--back);padding:.05rem .3rem;border-radius:.2rem}
.box ul{margin:.25rem 0;padding-left:1.2rem}
dl.numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.2rem,1fr));gap:.6rem;margin:1rem 0 0}
dl.numbers div{background:var(--panel);padding:.5rem .7rem;border-radius:.4rem}
dt{color:var(--muted);font-size:.87rem}dd{margin:0}
dl.numbers dd{font-size:1.2rem;font-variant-numeric:tabular-nums}dl.numbers dd small{white-space:nowrap;font-size:.85rem;color:var(--muted)}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:1rem 0 0}
svg.plot{display:block;max-width:100%;height:auto;overflow:visible;--plot-background:var(--back)}
svg.plot text{white-space:pre}
.narrow{display:none}
@media screen and (max-width:600px){.wide{display:none}.narrow{display:block}dl.facts{grid-template-columns:1fr}dl.facts dd{margin-bottom:.4rem}}
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.4rem 0;padding:0;font-size:.9rem}
ul.legend span{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.35rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.small{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:1.25rem;margin-top:.8rem}
details{margin-top:.4rem}summary{cursor:pointer;color:var(--muted)}
.scroll{overflow:auto;max-height:34rem;border:1px solid var(--line);margin-top:.4rem}
table{border-collapse:collapse;font-size:.87rem;width:100%;overflow-wrap:normal}
th,td{padding:.25rem .55rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
td:first-child{overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
#chunks td{white-space:nowrap}
#chunks .scroll{width:min(68rem,100vw - 2rem);margin-left:calc(50% - min(34rem,50vw - 1rem))}
th{position:sticky;top:0;background:var(--panel);white-space:nowrap}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--bar)}
th[aria-sort=ascending] button::after{content:" \\25B2"}th[aria-sort=descending] button::after{content:" \\25BC"}
footer{margin-top:2rem}.print{display:none}
@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:11pt}figure,.box,.small>div{break-inside:avoid}h2{break-after:avoid}
.scroll{max-height:none;overflow:visible}th{position:static;white-space:normal}.screen{display:none}.print{display:inline}#chunks .scroll{width:auto;margin-left:0;border:0}#chunks table{font-size:7pt}#chunks th,#chunks td{padding:.15rem .25rem}#chunks td:last-child{white-space:normal}details:not([open]){display:none}#chunks tbody tr:nth-child(n+${PRINTED + 1}){display:none}rect,path{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
@media print and (prefers-color-scheme:dark){:root{${LIGHT}}}
`;

/** Sorts the table of chunks by the column whose header is pressed. It is the same on every page. */
export const script = `
for (const table of document.querySelectorAll('table')) {
  if (!table.closest('#chunks')) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = document.createElement('button');
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute('aria-sort', at === 0 ? 'ascending' : 'none');
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      for (const one of heads) one.setAttribute('aria-sort', one === head ? (up ? 'ascending' : 'descending') : 'none');
      const key = (row) => row.cells[at].dataset.v ?? row.cells[at].textContent;
      const isNumber = head.className === 'n';
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (isNumber && (x === '' || y === '')) return (x === '') - (y === '');
        return (up ? 1 : -1) * (isNumber ? x - y : x < y ? -1 : x > y ? 1 : 0);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
`;
