// Preloaded into a role by NODE_OPTIONS: at SIGUSR2 it collects all garbage and writes how much memory
// is left. The file is complete when it has its name.
const { renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { runInNewContext } = require('node:vm')
const { isMainThread } = require('node:worker_threads')

if (isMainThread) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const file = join(process.env.TOLLGATE_DATA_DIR, `live-memory-${process.pid}.json`)
  process.on('SIGUSR2', () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(`${file}.new`, JSON.stringify({ bytes: heapUsed + external }))
    renameSync(`${file}.new`, file)
  })
}
