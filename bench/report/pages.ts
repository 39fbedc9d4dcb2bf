/** Pages of bench/results, each with the time and place of its measurement. */

import type { ScenarioResult } from '../scenario.ts'
import { machineText } from './compare.ts'
import { resultMarkdown } from './markdown.ts'
import { plotsOf } from './plots.ts'
import type { Results } from './results.ts'

/** One page per scenario, from the last of several runs that is not void. */
export function pagesOf(all: readonly Results[]): Map<string, string> {
  const pages = new Map<string, string>()
  for (const results of all) {
    for (const [name, result] of validScenarios(results)) {
      const plots = plotsOf(result.curves ?? {}).map(({ file }) => `![](${file})\n\n`)
      const text = `${resultMarkdown(result)}\n\n${plots.join('')}${origin(results)}`
      pages.set(name, `# ${name}\n\n${text}\n`)
    }
  }
  return pages
}

/** The scenarios whose run is not void. */
export function validScenarios({ scenarios }: Results): [string, ScenarioResult][] {
  const isValid = ({ notes }: ScenarioResult) => !notes.some((note) => note.includes(VOID))
  return Object.entries(scenarios).filter(([, result]) => isValid(result))
}

const VOID = 'the run is VOID'

function origin({ at, machine, short }: Results): string {
  const when = `${at.slice(0, 16).replace('T', ' ')} UTC`
  return `*Measured in a run of ${when}, ${machineText(machine)}${short ? ', short form' : ''}.*`
}
