/**
 * `npm run bench:docs -- FILE...`: writes the tables of docs/PERFORMANCE.md between their markers,
 * and the plots next to it, from results of `npm run bench -- --json FILE`. If several files
 * contain a scenario, the last one is used.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../test/support/product/product.ts'
import { partsOf, replacePart } from './report/markers.ts'
import { type Plotted, plotsOf } from './report/plots.ts'
import { type Results, readResults } from './report/results.ts'
import { sectionsOf } from './report/sections.ts'

const DOCUMENT = join(ROOT, 'docs/PERFORMANCE.md')
const PLOTS = join(ROOT, 'docs/performance')
const say = (text: string) => process.stdout.write(`${text}\n`)

function main(files: readonly string[]): void {
  if (files.length === 0) throw new Error('npm run bench:docs -- FILE... (from --json FILE)')
  const all = files.map(readResults)
  const parts = sectionsOf(all)
  let document = readFileSync(DOCUMENT, 'utf8')
  for (const name of partsOf(document)) {
    const text = parts.get(name)
    if (text === undefined) say(`${name}: no result, left as it is`)
    else document = replacePart(document, name, text)
  }
  writeFileSync(DOCUMENT, document)
  mkdirSync(PLOTS, { recursive: true })
  for (const { file, svg } of all.flatMap(plotted)) writeFileSync(join(PLOTS, file), svg)
  say(`${DOCUMENT} is written`)
}

function plotted({ scenarios }: Results): Plotted[] {
  return Object.values(scenarios).flatMap(({ curves = {} }) => plotsOf(curves))
}

main(process.argv.slice(2))
