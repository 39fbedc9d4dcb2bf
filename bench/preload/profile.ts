/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): every thread of the charging
 * process, or of the role BENCH_PROFILE_ROLE, profiles itself while there is a file `begin` in
 * BENCH_PROFILE_DIR, each time there is one, and then writes its profile to its own file there.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'

const LOOK_MS = 100
/** Interval of the samples, µs. */
const INTERVAL_MICROS = Number(process.env['BENCH_PROFILE_MICROS'] ?? 500)
const ROLE = process.env['BENCH_PROFILE_ROLE'] ?? 'realtime'
// Threads have a copy of the environment of the thread that started them, but not its arguments.
if (isMainThread && !process.argv.includes(ROLE)) process.env['BENCH_PROFILE_DIR'] = ''
const folder = process.env['BENCH_PROFILE_DIR'] ?? ''

if (folder !== '') {
  const session = new Session()
  session.connect()
  let isProfiling = false
  const timer = setInterval(() => {
    const isWanted = existsSync(join(folder, 'begin'))
    if (isWanted === isProfiling) return
    isProfiling = isWanted
    if (isWanted) {
      session.post('Profiler.enable')
      session.post('Profiler.setSamplingInterval', { interval: INTERVAL_MICROS })
      session.post('Profiler.start')
      return
    }
    session.post('Profiler.stop', (_error, { profile }) => {
      const file = join(folder, `thread-${threadId}.cpuprofile`)
      writeFileSync(`${file}.part`, JSON.stringify(profile))
      renameSync(`${file}.part`, file)
    })
  }, LOOK_MS)
  timer.unref()
}
