// The style sheet and the script of the reference page.
#include "cli/reference.h"

namespace dyadic::inline v1::cli {

const char* const kReferenceStyle = R"css(
:root { color-scheme: light dark; --page: #fdfdfc; --panel: #f5f6f5; --ink: #1b1e23; --soft: #565d67; --line: #e3e5e8; --accent: #00785a; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --panel: #1c2026; --ink: #e9ebee; --soft: #aab1ba; --line: #2c3239; --accent: #45cfa1; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 20px; }
body { margin: 0; background: var(--page); color: var(--ink); display: grid; grid-template-columns: 272px minmax(0, 1fr);
  font: 16px/1.55 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
a { color: inherit; text-decoration: none; } a:hover { text-decoration: underline; }
small { color: var(--soft); font-size: 13px; font-weight: 400; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 28px 20px 40px 24px; border-right: 1px solid var(--line); font-size: 14px; }
nav header { font-size: 17px; font-weight: 600; margin-bottom: 14px; }
#search { width: 100%; padding: 8px 11px; font: inherit; font-size: 15px; color: var(--ink); background: var(--page); border: 1px solid var(--line); border-radius: 6px; }
#search:focus { outline: 2px solid var(--accent); outline-offset: -1px; border-color: transparent; }
#count { margin: 8px 0 0; min-height: 20px; color: var(--soft); font-size: 13px; line-height: 1.4; }
#count button { font: inherit; color: var(--accent); background: none; border: 0; padding: 0; cursor: pointer; text-decoration: underline; }
#index { margin-top: 10px; } #index > summary { display: none; }
nav summary { cursor: pointer; padding: 3px 0; }
nav ul { list-style: none; margin: 2px 0 10px; padding: 0 0 0 15px; color: var(--soft); }
nav li { overflow-wrap: anywhere; line-height: 1.65; }
main { max-width: 900px; padding: 40px 48px 96px; min-width: 0; }
h1 { margin: 0 0 8px; font-size: 33px; line-height: 1.25; font-weight: 600; letter-spacing: -0.014em; }
h2 { margin: 64px 0 6px; font-size: 24px; font-weight: 600; letter-spacing: -0.01em; }
h2::first-letter { text-transform: uppercase; }
h3 { margin: 0 0 4px; font: 600 17px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
h3 small { font: 13px/1.4 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, Arial, sans-serif; margin-left: 8px; }
.lead { color: var(--soft); max-width: 46em; margin: 0 0 8px; }
article { padding: 24px 0 22px; border-bottom: 1px solid var(--line); } article > :last-child { margin-bottom: 0; }
article p { margin: 0 0 12px; max-width: 46em; overflow-wrap: anywhere; }
article:target h3 a, tr:target td:first-child { color: var(--accent); }
.code { display: grid; grid-template-columns: 56px minmax(0, 1fr); background: var(--panel); padding: 7px 12px; }
.code + .code { padding-top: 0; } samp { display: block; } .code span { color: var(--soft); font-size: 12.5px; line-height: 20px; }
.code div { white-space: pre-wrap; overflow-wrap: anywhere; padding-left: 1.5em; text-indent: -1.5em; }
.code div, code { font: 13px/20px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; }
dl { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 10px 0 14px; font-size: 13.5px; }
dl div { display: flex; gap: 7px; } dt { color: var(--soft); white-space: nowrap; } dd { margin: 0; }
dd a { color: var(--accent); }
.scroll { overflow-x: auto; margin-top: 12px; width: calc(100vw - 368px); max-width: 1100px; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 0 5px 16px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 400; color: var(--soft); }
th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; } th:first-child, td:first-child { padding-left: 0; }
td:first-child { font-weight: 600; }
[hidden] { display: none !important; }
@media (max-width: 820px) {
  html { scroll-padding-top: 96px; }
  body { display: block; }
  nav { height: auto; max-height: 70vh; z-index: 1; background: var(--page); border-right: 0; border-bottom: 1px solid var(--line); padding: 12px 18px; }
  nav header { display: none; } #index { margin-top: 4px; } #index > summary { display: list-item; color: var(--soft); }
  #count:empty { display: none; }
  main { padding: 22px 18px 64px; } h1 { font-size: 27px; } h2 { margin-top: 44px; }
  .code { grid-template-columns: minmax(0, 1fr); } .scroll { width: auto; }
}
@media print { nav { display: none; } body { display: block; } article { break-inside: avoid; } }
)css";

// Names that hold what was typed; other texts that do are shown when asked for, or when no name does.
const char* const kReferenceScript = R"js(
const box = document.getElementById('search'), count = document.getElementById('count'), index = document.getElementById('index');
const items = [...document.querySelectorAll('[data-names]')].map(e => ({
  e, names: e.dataset.names.toLowerCase(), text: (e.textContent + ' ' + (e.title || '')).toLowerCase(),
  link: document.querySelector(`nav li a[href="#${CSS.escape(e.id)}"]`)?.parentNode }));
const groups = [...document.querySelectorAll('section')], folds = [...document.querySelectorAll('#index details')];
let texts = false;
function filter() {
  const words = box.value.trim().toLowerCase().replace(/^(torch|dyadic|dy|tensor)(\.|::)/, '').split(/\s+/).filter(Boolean);
  const named = words.length ? items.filter(i => words.every(w => i.names.includes(w))) : items;
  const told = words.length ? items.filter(i => words.every(w => i.text.includes(w) || i.names.includes(w))) : items;
  const shown = new Set(named.length && !texts ? named : told);
  for (const i of items) { i.e.hidden = !shown.has(i); if (i.link) i.link.hidden = i.e.hidden; }
  for (const g of groups) g.hidden = words.length && !g.querySelector('[data-names]:not([hidden])');
  for (const f of folds) { f.hidden = words.length && !f.querySelector('li:not([hidden])'); f.open = words.length > 0 && shown.size <= 60; }
  count.textContent = words.length ? `${shown.size} of ${items.length}` : '';
  if (words.length && named.length && !texts && told.length > named.length) {
    const more = document.createElement('button');
    more.textContent = `${told.length - named.length} more mention it`;
    more.onclick = () => { texts = true; filter(); };
    count.append('; ', more);
  }
  document.querySelector('h1').hidden = document.querySelector('main > .lead').hidden = words.length > 0;
}
box.oninput = () => { texts = false; filter(); scrollTo(0, 0); };
box.onkeydown = e => {
  if (e.key === 'Escape') { box.value = ''; box.oninput(); }
  if (e.key === 'Enter') { const first = items.find(i => !i.e.hidden); if (first) location.hash = first.e.id; }
};
addEventListener('keydown', e => {
  if (e.key === '/' && document.activeElement !== box) { e.preventDefault(); box.focus(); box.select(); }
});
addEventListener('hashchange', () => {  // a link to what the search has hidden
  const to = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (to?.hidden || to?.closest('section[hidden]')) { box.value = ''; filter(); to.scrollIntoView(); }
});
if (innerWidth <= 820) index.open = false;
if (box.value) filter();
)js";

}  // namespace dyadic::inline v1::cli
