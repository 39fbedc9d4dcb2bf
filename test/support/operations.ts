/**
 * How much a call does, as a number that is the same on every machine: how often each block of the
 * code runs, as V8 counts it for coverage. What the engine does itself (indexOf, slice, regular
 * expressions) is not counted. Only what is compiled after this has been imported has counters, so
 * it must be the first import of a test.
 */
import { type Profiler, Session } from 'node:inspector'

const session = new Session()
session.connect()
post('Profiler.enable')
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Blocks of code that ran during the call, of the product and of the libraries that it uses. */
export function operationsOf(run: () => void): number {
  // What was counted until now is gone then.
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

/** The answer is there when the call returns: a session with its own thread is synchronous. */
function post(method: string, parameters: object = {}): unknown {
  let result: unknown
  session.post(method, parameters, (error, answer) => {
    if (error !== null) throw new Error(error.message)
    result = answer
  })
  return result
}
