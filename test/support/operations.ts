/**
 * The work of a call as a number that is the same on every machine: how often each block of code
 * runs, as V8 counts it for coverage. Work inside the engine (indexOf, slice, regular expressions)
 * is not counted. Only code compiled after this module is imported has counters, so it must be the
 * first import of a test.
 */
import { type Profiler, Session } from 'node:inspector'

const session = new Session()
session.connect()
post('Profiler.enable')
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Blocks of code that ran during the call, of the product and of its libraries. */
export function operationsOf(run: () => void): number {
  // Resets the counters.
  post('Profiler.takePreciseCoverage')
  run()
  const { result } = post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType
  let sum = 0
  for (const { functions, url } of result) {
    if (!/\/(?:src|saxes)\//.test(url)) continue
    for (const { ranges } of functions) for (const { count } of ranges) sum += count
  }
  return sum
}

/** Returns the answer synchronously: a session with its own thread calls back before it returns. */
function post(method: string, parameters: object = {}): unknown {
  let result: unknown
  session.post(method, parameters, (error, answer) => {
    if (error !== null) throw new Error(error.message)
    result = answer
  })
  return result
}
