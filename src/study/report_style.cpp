// The style sheet of report.html. Series colours follow Okabe and Ito's palette (told apart with every common colour
// blindness), darker on white and lighter on black where contrast asks for it; markers differ in shape as well.
#include "study/report_style.h"

namespace dyadic::inline v1::study {

const char* const kReportStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fdfdfc; --panel: #ffffff; --ink: #1b1e23; --soft: #565d67; --faint: #8b929c; --line: #e3e5e8; --grid: #edeff1;
  --accent: #00785a; --band: #e3f3ec; --warn: #b3401f;
  --s0: #1b1e23; --s1: #0072b2; --s2: #d08700; --s3: #cf4a1c; --s4: #a8518a; --s5: #00916c; --s6: #3f9bd6; --s7: #7a6a00;
  --m0: #27567f; --m1: #7fb0d8; --m2: #dd9a1e; --m3: #3aa58c; --m4: #9aa1aa; --m5: #c9cdd3; --m6: #b48bb5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --panel: #1a1e23; --ink: #e9ebee; --soft: #aab1ba; --faint: #7d8590; --line: #2c3239; --grid: #252a31;
    --accent: #45cfa1; --band: #17322a; --warn: #ff8e6b;
    --s0: #e9ebee; --s1: #56b4e9; --s2: #f0b23c; --s3: #ff7d54; --s4: #dd94c6; --s5: #3fc79a; --s6: #9ad2f5; --s7: #e5d566;
    --m0: #5c9ad0; --m1: #a9cdeb; --m2: #e8ae48; --m3: #47b79c; --m4: #7d8590; --m5: #565d67; --m6: #c79cc8;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
main { max-width: 1064px; margin: 0 auto; padding: 56px 32px 72px; }
.over { margin: 0 0 14px; color: var(--soft); font-size: 14px; }
.over b { color: var(--ink); font-weight: 600; }
h1 { margin: 0; font-size: 33px; line-height: 1.28; font-weight: 600; letter-spacing: -0.014em; text-wrap: balance; max-width: 32em; }
h1 em { font-style: normal; color: var(--accent); white-space: nowrap; }
h2 { margin: 0 0 4px; font-size: 20px; line-height: 1.3; font-weight: 600; letter-spacing: -0.006em; }
h3 { margin: 26px 0 6px; font-size: 15px; font-weight: 600; }
section { margin-top: 54px; }
p { margin: 0 0 12px; max-width: 46em; overflow-wrap: anywhere; }
.lead { color: var(--soft); margin-bottom: 18px; }
.after { margin-top: 16px; font-size: 14px; }
.why { margin-top: 26px; }
.why p { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0 28px; margin-top: 34px; }
.tile { border-top: 2px solid var(--ink); padding-top: 10px; }
.tile .label { font-size: 13.5px; color: var(--soft); }
.tile .value { font-size: 29px; line-height: 1.25; font-weight: 600; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tile .value small { font-size: 15px; font-weight: 400; letter-spacing: 0; color: var(--soft); }
.tile .aside { font-size: 13.5px; color: var(--soft); min-height: 2.9em; line-height: 1.45; }
.meter { position: relative; height: 6px; margin: 7px 0 8px; background: var(--line); }
.meter i { position: absolute; left: 0; top: 0; bottom: 0; background: var(--accent); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 44px; }
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; overflow: visible; font-size: 13px; }
.narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: 5px 20px; margin: 0 0 14px; padding: 0; list-style: none; font-size: 13.5px; color: var(--soft); }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 7px; vertical-align: -1px; }
.legend i.half { opacity: .45; height: 6px; vertical-align: 2px; }
.legend i.tick { width: 3px; background: var(--ink); height: 14px; vertical-align: -2px; }
svg text { fill: var(--ink); }
svg .tick, svg .label, svg .note { fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .note { font-size: 12px; }
svg .clear { paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
svg .value { font-variant-numeric: tabular-nums; }
svg .picked { font-weight: 600; fill: var(--accent); }
.grid { stroke: var(--grid); } .axis { stroke: var(--faint); }
.rule { stroke: var(--faint); stroke-dasharray: 4 4; }
.band { fill: var(--band); }
.leader { fill: none; stroke: var(--faint); stroke-width: .8; }
.faint { fill: none; stroke: var(--c); stroke-width: 1.2; opacity: .32; stroke-linejoin: round; }
.strong { fill: none; stroke: var(--c); stroke-width: 1.9; stroke-linejoin: round; }
.mark { fill: var(--c); stroke: var(--page); stroke-width: 1; }
.mark.hollow { fill: var(--page); stroke: var(--c); stroke-width: 1.8; }
.halo { fill: var(--accent); opacity: .22; }
.error { stroke: var(--c); stroke-width: 1.3; }
.solid { fill: var(--c); }
.peak { fill: var(--ink); }
.predicted { opacity: .5; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); } .s3 { --c: var(--s3); }
.s4 { --c: var(--s4); } .s5 { --c: var(--s5); } .s6 { --c: var(--s6); } .s7 { --c: var(--s7); }
.in { --c: var(--accent); } .out { --c: var(--warn); }
.m0 { fill: var(--m0); background: var(--m0); } .m1 { fill: var(--m1); background: var(--m1); } .m2 { fill: var(--m2); background: var(--m2); }
.m3 { fill: var(--m3); background: var(--m3); } .m4 { fill: var(--m4); background: var(--m4); } .m5 { fill: var(--m5); background: var(--m5); }
.m6 { fill: var(--m6); background: var(--m6); }
svg:has(.series:hover) .series:not(:hover) { opacity: .22; }
.scroll { overflow-x: auto; margin: 14px min(0px, (1064px - 100vw) / 2) 0 0; }
table { border-collapse: collapse; min-width: min(100%, 1000px); font-size: 13.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }
th, td { padding: 7px 0 7px 13px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 400; color: var(--soft); vertical-align: bottom; font-size: 13px; white-space: normal; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--page); }
td:first-child { font-weight: 600; white-space: normal; overflow-wrap: anywhere; min-width: 9em; max-width: 17em; }
td:first-child small { white-space: normal; max-width: 15em; min-width: 9em; }
td small { display: block; font-weight: 400; color: var(--soft); font-size: 12.5px; }
tr.picked td:first-child { color: var(--accent); }
.yes { color: var(--accent); } .no { color: var(--warn); }
td:first-child[class^=at] { font-weight: 400; } td.at0:first-child { font-weight: 600; }
td.at1:first-child { padding-left: 14px; } td.at2:first-child { padding-left: 28px; } td.at3:first-child { padding-left: 42px; }
td.at4:first-child { padding-left: 56px; } td.at5:first-child { padding-left: 70px; } td.at6:first-child { padding-left: 84px; }
.heat1, .heat2, .heat3, .heat4, .heat5, .heat6 { --h: 6%; padding-right: 8px; background: color-mix(in srgb, var(--warn) var(--h), var(--page)); }
.heat0 { padding-right: 8px; } .heat2 { --h: 12%; } .heat3 { --h: 22%; } .heat4 { --h: 34%; } .heat5 { --h: 48%; } .heat6 { --h: 64%; }
td[class^=heat] small { color: inherit; }
td.text { text-align: left; white-space: normal; font-weight: 400; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; margin: 14px 0 0; font-size: 14px; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
code { font: 13px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
p code { white-space: nowrap; }
details { margin-top: 16px; font-size: 14px; } summary { cursor: pointer; color: var(--soft); }
.notice { border-left: 3px solid var(--warn); padding-left: 14px; margin-top: 22px; }
footer { margin-top: 60px; padding-top: 18px; border-top: 1px solid var(--line); color: var(--soft); font-size: 14px; }
@media (max-width: 860px) { .pair { grid-template-columns: 1fr; gap: 40px; } .tiles { grid-template-columns: 1fr 1fr; gap: 26px 28px; } }
@media (max-width: 700px) {
  h1 em { white-space: normal; overflow-wrap: anywhere; }
  main { padding: 30px 18px 48px; } h1 { font-size: 25px; } section { margin-top: 44px; }
  .wide { display: none; } .narrow { display: block; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 9px; }
}
@media (max-width: 380px) { .tile .value { font-size: 25px; } }
@media print {
  :root { --page: #fff; --panel: #fff; --ink: #000; --soft: #444; --faint: #888; --line: #ddd; --grid: #eee; --accent: #00785a; --band: #e3f3ec; --warn: #b3401f;
    --s0: #000; --s1: #0072b2; --s2: #d08700; --s3: #cf4a1c; --s4: #a8518a; --s5: #00916c; --s6: #3f9bd6; --s7: #7a6a00;
    --m0: #27567f; --m1: #7fb0d8; --m2: #dd9a1e; --m3: #3aa58c; --m4: #9aa1aa; --m5: #c9cdd3; --m6: #b48bb5; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 12px; } main { max-width: none; padding: 0; } h1 { font-size: 24px; }
  section { margin-top: 26px; } figure, .tile, .legend, tr, p { break-inside: avoid; } h2, h3, .lead, .legend { break-after: avoid; }
  .wide { display: block; } .narrow { display: none; } .scroll { overflow: visible; margin-right: 0; } table { width: 100%; min-width: 0; }
  .pair { grid-template-columns: 1fr 1fr; gap: 24px; } .tiles { grid-template-columns: repeat(4, 1fr); }
  table { font-size: 9.5px; } th { font-size: 9px; overflow-wrap: anywhere; } td small { white-space: normal; } th, td { padding: 4px 0 4px 7px; } td small { font-size: 8.5px; }
}
)css";

}  // namespace dyadic::inline v1::study
