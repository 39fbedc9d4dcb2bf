/** `npm run bench`: the real product under load, compared with ceilings of the same run. */
import { runBenchmark } from './run.ts'
import { SCENARIOS } from './scenarios.ts'

await runBenchmark(SCENARIOS)
