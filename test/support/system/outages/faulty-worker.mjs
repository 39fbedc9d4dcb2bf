// The product's worker, in which a test can arm one fault: for a session, before or after its
// request has been charged. Its clock is that of the machine plus the offset set by the test.
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'

const NEVER = new Int32Array(new SharedArrayBuffer(4))
const SPIN_STEP_MS = 20

const folder = workerData.config.data.dir
const machineNow = Date.now
let offsetMs = 0
Date.now = () => machineNow() + offsetMs

const { unpackTask } = await import('../../../../src/domain/worker-protocol.ts')
const { charge } = await import('../../../../src/workers/main.ts')
const { serve } = await import('../../../../src/workers/serve.ts')

function readNote(name) {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8'))
  } catch {
    return null
  }
}

/** The fault armed for one of these requests; the first worker to find it disarms it. */
function faultFor(requests, when) {
  const fault = readNote('fault.json')
  if (fault?.when !== when) return null
  if (!requests.some(({ sessionId }) => sessionId === fault.sessionId)) return null
  renameSync(join(folder, 'fault.json'), join(folder, 'fault-met.json'))
  return fault
}

function fail(fault) {
  if (fault === null) return
  if (fault.what === 'throws') throw new Error('a defect')
  if (fault.what === 'exits') process.exit(3)
  const until = performance.now() + fault.spinMs
  // Never returns to its event loop, like a loop that computes, but leaves the processor to others.
  while (performance.now() < until) Atomics.wait(NEVER, 0, 0, SPIN_STEP_MS)
}

export default ({ port }) => serve(port, work)

async function work(task) {
  offsetMs = readNote('clock.json')?.offsetMs ?? 0
  const { requests } = unpackTask(task)
  fail(faultFor(requests, 'before'))
  const fault = faultFor(requests, 'after')
  const result = await charge(task)
  fail(fault)
  return result
}
