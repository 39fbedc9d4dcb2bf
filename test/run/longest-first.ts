import { createHash } from 'node:crypto'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { pathOf, readBudget } from './budget.ts'

/** Files that take less can end anywhere without prolonging the run, seconds. */
const SHORT_S = 10

/**
 * Starts the files of each project by their recorded duration, longest first, so that no long one
 * runs alone at the end; files without a record come first. Short ones run in an order of the seed
 * (`--sequence.seed`): files share modules, and must not depend on which ran before. A worker keeps
 * its modules only for files of one project, so these stay together.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const recorded = readBudget().files
    const { seed } = this.ctx.config.sequence
    this.ctx.logger.log(`order of short files: --sequence.seed=${seed}`)
    const projects = this.ctx.projects.map(({ name }) => name)
    const ranked = files.map((file) => {
      const path = pathOf(file.moduleId)
      const seconds = Math.max(...(recorded[path] ?? [Number.MAX_VALUE]))
      const hash = createHash('sha256').update(`${seed} ${path}`).digest().readUInt32BE()
      const place = projects.indexOf(file.project.name)
      return { file, place, rank: seconds < SHORT_S ? -hash : seconds }
    })
    ranked.sort((a, b) => a.place - b.place || b.rank - a.rank)
    return ranked.map(({ file }) => file)
  }
}
