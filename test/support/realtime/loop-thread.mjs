// The thread of an event loop, with peers instead of stores; the key "boom" makes it fail,
// the key "hang" blocks it for a while.
import { workerData } from 'node:worker_threads'
import { fileTypeDefaultsOf } from '../../../src/file-types/defaults.ts'
import { runLoop } from '../../../src/realtime/loop-thread.ts'

export const slow = { name: 'SLOW', requestsPerSecond: 0.001, burst: 10, fileTypes: null }

function byKey(key) {
  if (key === 'slow') return { ...slow, allowsAddress: () => true, diameter: null }
  if (key === 'boom') {
    setImmediate(() => {
      throw new Error('boom')
    })
  }
  if (key === 'hang')
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000))
  return null
}

if (workerData.config.data.dir === 'fails-at-load') throw new Error('no such module')

runLoop(async (config) => {
  if (config.data.dir === 'fails') throw new Error('rules cannot be used')
  const peers = { byKey, byOriginHost: () => null, all: [], skipped: [] }
  return {
    defaults: fileTypeDefaultsOf(config),
    follow: async (listener) => {
      listener({ fileTypes: [], peers })
      return { close: async () => undefined }
    },
  }
})
