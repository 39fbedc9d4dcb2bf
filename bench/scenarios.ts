/** All scenarios, ordered so that those sharing a product are adjacent. */
import type { Scenario } from './scenario.ts'
import { auditScenario } from './scenarios/audit.ts'
import { clusterScenario } from './scenarios/cluster.ts'
import { coldScenario } from './scenarios/cold.ts'
import { customersScenario } from './scenarios/customers.ts'
import { diameterScenario } from './scenarios/diameter.ts'
import { durabilityScenario } from './scenarios/durability.ts'
import { eventsScenario } from './scenarios/events.ts'
import { generatorScenario } from './scenarios/generator.ts'
import { jsonScenario } from './scenarios/json.ts'
import { keyValueScenario } from './scenarios/keyvalue.ts'
import { latencyScenario } from './scenarios/latency.ts'
import { listenersScenario } from './scenarios/listeners.ts'
import { memoryScenario } from './scenarios/memory.ts'
import { mixedScenario } from './scenarios/mixed.ts'
import { overloadScenario } from './scenarios/overload.ts'
import { pausesScenario } from './scenarios/pauses.ts'
import { profileScenario } from './scenarios/profile.ts'
import { releaseScenario } from './scenarios/release.ts'
import { slowScenario } from './scenarios/slow.ts'
import { stagesScenario } from './scenarios/stages.ts'
import { sustainedScenario } from './scenarios/sustained.ts'

export const SCENARIOS: readonly Scenario[] = [
  generatorScenario,
  jsonScenario,
  stagesScenario,
  profileScenario,
  latencyScenario,
  keyValueScenario,
  diameterScenario,
  mixedScenario,
  durabilityScenario,
  sustainedScenario,
  slowScenario,
  auditScenario,
  overloadScenario,
  releaseScenario,
  coldScenario,
  pausesScenario,
  listenersScenario,
  customersScenario,
  eventsScenario,
  clusterScenario,
  memoryScenario,
]
