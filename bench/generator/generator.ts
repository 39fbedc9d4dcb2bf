/** Client of the load generator, a separate process so that its cost can be measured. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Flow, JobResult, Order, Report, Reports } from './job.ts'

export interface Generator {
  /** Runs all flows concurrently. Rejects if a connection cannot be opened. */
  run(...flows: Flow[]): Promise<JobResult>
  /** Charged reports so far. */
  reports(): Promise<Reports[]>
  /** Releases the open sessions; the generator cannot be used afterwards. */
  release(): Promise<JobResult>
  close(): Promise<void>
}

export async function startGenerator(): Promise<Generator> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const program = fileURLToPath(new URL(`./process.${extension}`, import.meta.url))
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await answerOf(child)
  const ask = async (order: Order): Promise<Report> => {
    child.send(order)
    const report = await answerOf(child)
    if (report.type === 'error') throw new Error(`the load generator: ${report.message}`)
    return report
  }
  const result = async (order: Order): Promise<JobResult> => {
    const report = await ask(order)
    if (report.type !== 'result') throw new Error(`the load generator answered ${report.type}`)
    return report.result
  }
  return {
    run: (...flows) => result({ type: 'run', job: { flows } }),
    release: () => result({ type: 'release' }),
    async reports() {
      const report = await ask({ type: 'reports' })
      return report.type === 'reports' ? report.flows : []
    },
    async close() {
      if (child.exitCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

async function answerOf(child: ChildProcess): Promise<Report> {
  const ended = new AbortController()
  try {
    const [report] = await Promise.race([
      once(child, 'message', { signal: ended.signal }),
      once(child, 'exit', { signal: ended.signal }).then(() => {
        throw new Error('the load generator ended')
      }),
    ])
    return report as Report
  } finally {
    ended.abort()
  }
}
