/**
 * Texts of docs/PERFORMANCE.md by their markers, each with the time and place of its measurement.
 */
import { machineText } from './compare.ts'
import { resultMarkdown } from './markdown.ts'
import type { Results } from './results.ts'

/** One section per scenario, from the last of several runs; and `machine` with all machines. */
export function sectionsOf(all: readonly Results[]): Map<string, string> {
  const sections = new Map<string, string>()
  const machines = new Set(all.map(({ machine }) => machineText(machine)))
  sections.set(
    'machine',
    `Last written from runs on ${[...machines].join('; and on ')}. Each section says when and ` +
      'where it was measured.',
  )
  for (const results of all) {
    for (const [name, result] of Object.entries(results.scenarios)) {
      sections.set(name, `${resultMarkdown(result)}\n\n${origin(results)}`)
    }
  }
  return sections
}

function origin({ at, machine, short }: Results): string {
  const when = `${at.slice(0, 16).replace('T', ' ')} UTC`
  return `*Measured in a run of ${when}, ${machineText(machine)}${short ? ', short form' : ''}.*`
}
