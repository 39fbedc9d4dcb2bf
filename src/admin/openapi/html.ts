/** HTML helpers; all text is escaped. */

const SIGNS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escaped(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign)
}

/** A string that is valid as an `id` and a URL fragment. */
export function anchor(...names: readonly string[]): string {
  return names.join('-').replace(/[^A-Za-z0-9_-]/g, '-')
}

export const STYLE = `
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --accent: #0b66c3; }
@media (prefers-color-scheme: dark) { :root { --accent: #6cb4ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
nav ul { columns: 14rem; padding-left: 1.2rem; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; }
summary { cursor: pointer; padding: .5rem .8rem; }
summary code { font-weight: 600; }
details > div { padding: 0 .8rem .8rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; overflow-wrap: anywhere; }
th, td:nth-child(2), td:nth-child(3) { min-width: 5rem; }
tbody tr { border-top: 1px solid var(--line); }
pre { background: var(--soft); padding: .7rem; border-radius: .4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
h1, h2, h3, summary, p, li { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { position: absolute; left: -99rem; }
  table, caption, tbody, tr, th, td { display: block; }
  th, td { padding: .1rem 0; }
  tbody tr { padding: .4rem 0; }
  td:empty { display: none; }
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
`
