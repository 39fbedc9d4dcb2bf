/**
 * `npm run bench:console`: what viewers of the operator console cost the node, and how long its
 * pages take in a browser. `--seconds` sets the length of a phase.
 */
import { CONSOLE_SCENARIOS } from './console/scenarios.ts'
import { runBenchmark } from './run.ts'

await runBenchmark(CONSOLE_SCENARIOS)
