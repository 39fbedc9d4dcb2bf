/**
 * `npm run bench:docs -- FILE...`: writes a page of bench/results for each scenario, and the plots
 * beside it, from results of `npm run bench -- --json FILE`. If several files contain a scenario,
 * the last one is used.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../test/support/product/product.ts'
import { pagesOf, validScenarios } from './report/pages.ts'
import { type Plotted, plotsOf } from './report/plots.ts'
import { type Results, readResults } from './report/results.ts'

const FOLDER = join(ROOT, 'bench/results')

function main(files: readonly string[]): void {
  if (files.length === 0) throw new Error('npm run bench:docs -- FILE... (from --json FILE)')
  const all = files.map(readResults)
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, page] of pagesOf(all)) writeFileSync(join(FOLDER, `${name}.md`), page)
  for (const { file, svg } of all.flatMap(plotted)) writeFileSync(join(FOLDER, file), svg)
  process.stdout.write(`${FOLDER} is written\n`)
}

function plotted(results: Results): Plotted[] {
  return validScenarios(results).flatMap(([, { curves = {} }]) => plotsOf(curves))
}

main(process.argv.slice(2))
