// Loaded by each thread of the product: the second event-loop thread fails once a file exists.
import { existsSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

const faultFile = process.env.TEST_LOOP_FAULT
if (workerData?.loop === 1 && faultFile !== undefined) {
  const timer = setInterval(() => {
    if (!existsSync(faultFile)) return
    clearInterval(timer)
    throw new Error('a defect of the test')
  }, 20)
  timer.unref()
}
