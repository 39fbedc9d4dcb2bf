import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { pathOf, readBudget } from './budget.ts'

/**
 * Starts test files by their recorded duration, longest first, so that no long one runs alone at the
 * end. Files of a project stay together, because a worker keeps loaded modules only for files of one
 * project. Files without a record come first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const recorded = readBudget().files
    const projects = this.ctx.projects.map(({ name }) => name)
    const placeOf = ({ project }: TestSpecification) => projects.indexOf(project.name)
    const secondsOf = ({ moduleId }: TestSpecification) =>
      Math.max(...(recorded[pathOf(moduleId)] ?? [Number.MAX_VALUE]))
    return [...files].sort((a, b) => placeOf(a) - placeOf(b) || secondsOf(b) - secondsOf(a))
  }
}
