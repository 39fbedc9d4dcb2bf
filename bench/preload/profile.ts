/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): every thread of the charging
 * process profiles itself from the creation of the file `begin` in BENCH_PROFILE_DIR until the
 * creation of `end`, and writes its profile to its own file there.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'

const LOOK_MS = 100
const SAMPLE_MICROS = 500
// Threads have a copy of the environment of the thread that started them, but not its arguments.
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
