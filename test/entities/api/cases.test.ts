/** Calls of the entity API with their answers: the case files beside. */
import { runCases } from '../../support/admin/actions/cases/run.ts'

runCases(`${import.meta.dirname}/cases`)
