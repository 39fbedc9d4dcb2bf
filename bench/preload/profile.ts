/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): every thread of the charging
 * process profiles itself from when there is a file `begin` in BENCH_PROFILE_DIR until there is one
 * named `end`, and leaves what it saw in a file of its own there.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'

const LOOK_MS = 100
const SAMPLE_MICROS = 500
// Threads have a copy of the environment of the thread that began them, but not its arguments.
if (isMainThread && !process.argv.includes('realtime')) process.env['BENCH_PROFILE_DIR'] = ''
const folder = process.env['BENCH_PROFILE_DIR'] ?? ''

if (folder !== '') {
  let session: Session | null = null
  const timer = setInterval(() => {
    if (session === null) {
      if (!existsSync(join(folder, 'begin'))) return
      session = new Session()
      session.connect()
      session.post('Profiler.enable')
      session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS })
      session.post('Profiler.start')
    } else if (existsSync(join(folder, 'end'))) {
      clearInterval(timer)
      session.post('Profiler.stop', (_error, { profile }) => {
        const file = join(folder, `thread-${threadId}.cpuprofile`)
        writeFileSync(`${file}.part`, JSON.stringify(profile))
        renameSync(`${file}.part`, file)
      })
    }
  }, LOOK_MS)
  timer.unref()
}
