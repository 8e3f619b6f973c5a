/** The style sheet of the data pages, as text, so that a bundle of the viewer holds it. */
export const STYLES = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #e6edf3);
  --quiet: light-dark(#59636e, #9198a1);
  --line: light-dark(#d8dee4, #30363d);
  --ground: light-dark(#ffffff, #0d1117);
  --raised: light-dark(#f6f8fa, #161b22);
  --link: light-dark(#0858b8, #6cb2ff);
  --good: light-dark(#1a7f37, #3fb950);
  --busy: light-dark(#9a6700, #d29922);
  --bad: light-dark(#cf222e, #f85149);
  --shadow: light-dark(#1f232844, #e6edf355);
}

* {
  box-sizing: border-box;
}

body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font:
    14px/1.5 system-ui,
    -apple-system,
    'Segoe UI',
    sans-serif;
}

a {
  color: var(--link);
  text-decoration-thickness: 1px;
  text-underline-offset: 3px;
}
a:hover {
  text-decoration-thickness: 2px;
}
:focus-visible {
  outline: 2px solid var(--link);
  outline-offset: 2px;
}

/* Comes into view with the focus. */
.skip {
  position: absolute;
  left: 12px;
  padding: 8px 14px;
  border: 1px solid var(--line);
  border-radius: 6px;
  background: var(--ground);
}
.skip:not(:focus) {
  clip-path: inset(50%);
  height: 1px;
  overflow: hidden;
  padding: 0;
  width: 1px;
}

body > header {
  display: flex;
  justify-content: space-between;
  align-items: center;
  padding: 0 24px;
  border-bottom: 1px solid var(--line);
  background: var(--raised);
}
.site a {
  display: inline-block;
  padding: 12px 0;
  margin-right: 24px;
  color: var(--quiet);
  font-weight: 600;
  text-decoration: none;
}
.site a[aria-current] {
  color: var(--text);
  box-shadow: inset 0 -2px var(--link);
}

main {
  padding: 16px 24px 48px;
}
h1 {
  margin: 4px 0 12px;
  font-size: 22px;
  line-height: 1.3;
  overflow-wrap: anywhere;
}
h2 {
  margin: 32px 0 8px;
  font-size: 17px;
}
h2 .quiet {
  margin-left: 8px;
  font-size: 14px;
  font-weight: 400;
}
.trail {
  overflow-wrap: anywhere;
  color: var(--quiet);
}
.separator {
  margin: 0 6px;
}

.quiet,
.absent {
  color: var(--quiet);
}
.bar {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  align-items: center;
  gap: 8px 24px;
  margin-bottom: 12px;
}
.bar p {
  margin: 0;
}
.condition {
  display: inline-block;
  margin-left: 6px;
  padding: 1px 10px;
  border: 1px solid var(--line);
  border-radius: 999px;
  background: var(--raised);
  color: inherit;
  text-decoration: none;
}
input,
button {
  padding: 4px 10px;
  border: 1px solid var(--line);
  border-radius: 6px;
  background: var(--ground);
  color: inherit;
  font: inherit;
}
button {
  background: var(--raised);
  cursor: pointer;
}

/* A shadow at an edge that hides columns: the ground over it scrolls with them, and covers it at the end. */
.scroll {
  overflow-x: auto;
  border: 1px solid var(--line);
  border-radius: 8px;
  background:
    linear-gradient(to right, var(--ground) 12px, transparent) left / 36px 100% no-repeat local,
    linear-gradient(to left, var(--ground) 12px, transparent) right / 36px 100% no-repeat local,
    linear-gradient(to right, var(--shadow), transparent) left / 16px 100% no-repeat,
    linear-gradient(to left, var(--shadow), transparent) right / 16px 100% no-repeat;
}
table {
  border-collapse: collapse;
}
.documents {
  width: 100%;
}
.documents th,
.documents td {
  padding: 7px 14px;
  border-bottom: 1px solid var(--line);
  text-align: left;
  white-space: nowrap;
}
.documents tbody tr:last-child > td {
  border-bottom: 0;
}
.documents th {
  font-size: 12px;
  font-weight: 600;
}
.sort {
  color: inherit;
  text-decoration-style: dotted;
  white-space: nowrap;
}
/* Drawn, since few fonts have arrows: both directions, or the current one. */
.sort::after {
  content: '';
  display: inline-block;
  width: 8px;
  height: 11px;
  margin-left: 5px;
  background: var(--quiet);
  clip-path: polygon(50% 0, 100% 40%, 0 40%, 50% 0, 50% 100%, 0 60%, 100% 60%, 50% 100%);
}
[aria-sort='ascending'] .sort::after,
[aria-sort='descending'] .sort::after {
  background: var(--link);
  clip-path: polygon(50% 0, 100% 70%, 0 70%);
}
[aria-sort='descending'] .sort::after {
  clip-path: polygon(50% 100%, 100% 30%, 0 30%);
}
.documents tbody tr:hover {
  background: var(--raised);
}
.documents .right {
  text-align: right;
  font-variant-numeric: tabular-nums;
}
.id {
  max-width: 320px;
  overflow: hidden;
  text-overflow: ellipsis;
}
@media (max-width: 640px) {
  body > header,
  main {
    padding-inline: 12px;
  }
  .documents th,
  .documents td {
    padding-inline: 8px;
  }
  .documents .text {
    min-width: 120px;
    white-space: normal;
  }
  .site a {
    margin-right: 16px;
  }
  body > header .quiet {
    display: none;
  }
  /* The column after it, such as a status, is on the screen. */
  .scroll .id {
    max-width: 150px;
  }
}
.id,
.time,
.number {
  font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace;
  font-size: 13px;
}

.fields {
  width: 100%;
}
.fields th,
.fields td {
  padding: 5px 14px 5px 0;
  border-top: 1px solid var(--line);
  text-align: left;
  vertical-align: top;
  overflow-wrap: anywhere;
}
.fields th {
  min-width: 110px;
  color: var(--quiet);
  font-weight: 400;
  white-space: nowrap;
}
.fields tr:first-child > th,
.fields tr:first-child > td {
  border-top: 0;
}
.document {
  padding: 8px 16px;
  border: 1px solid var(--line);
  border-radius: 8px;
}

.status {
  display: inline-block;
  padding: 0 9px;
  border: 1px solid currentcolor;
  border-radius: 999px;
  color: var(--quiet);
  font-size: 12px;
  font-weight: 600;
  text-decoration: none;
}
[data-status='ready'],
[data-status='completed'],
[data-status='DELIVERED'] {
  color: var(--good);
}
[data-status='processing'],
[data-status='WAITING'],
[data-status='LINKING'],
[data-status='DELIVERING'] {
  color: var(--busy);
}
[data-status='failed'],
[data-status='requires_review'],
[data-status='CANCELLED'] {
  color: var(--bad);
}

.pages {
  display: flex;
  gap: 24px;
  margin-top: 12px;
}

pre {
  margin: 0;
  font:
    12px/1.5 ui-monospace,
    'SF Mono',
    Menlo,
    Consolas,
    'Liberation Mono',
    monospace;
  white-space: pre-wrap;
}
`;
