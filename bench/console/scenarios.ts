/** Scenarios of `npm run bench:console`. */
import type { Scenario } from '../scenario.ts'
import { anonymousScenario } from './anonymous.ts'
import { loadScenario } from './load.ts'
import { pagesScenario } from './pages.ts'
import { samplerScenario } from './sampler.ts'

export const CONSOLE_SCENARIOS: readonly Scenario[] = [
  loadScenario,
  samplerScenario,
  anonymousScenario,
  pagesScenario,
]
