/** The process of the load generator: runs one job after the other, received as messages. */
import { performance } from 'node:perf_hooks'
import { DiameterLink } from './diameter-link.ts'
import { FlowRun } from './flow-run.ts'
import { HttpLink } from './http-link.ts'
import { json, keyValue } from './http-messages.ts'
import type { Flow, Job, JobResult, Order, Report, Reports } from './job.ts'
import type { Link, LinkOptions } from './link.ts'
import { startMetronome, TICK_MS } from './metronome.ts'
import { SessionRing } from './session-ring.ts'

/** Sessions and connections of a flow; both outlive the job. */
interface FlowState {
  flow: Flow
  ring: SessionRing
  link: Link
}

const states = new Map<string, FlowState>()
const RELEASE_SECONDS = 60
/** Interval of checks for the end of a closed loop without answers. */
const CHECK_MS = 100

function stateOf(flow: Flow): FlowState {
  const key = `${flow.name} ${flow.port} ${flow.connections} ${flow.outstanding}`
  const found = states.get(key)
  if (found !== undefined) return { ...found, flow }
  const { sessions, subscribers, onlyStarts = false } = flow
  const ring = new SessionRing({ sessions, subscribers, onlyStarts })
  const run = `${flow.name}-${process.pid.toString(36)}-${states.size}`
  const link = linkOf(flow, {
    ...flow,
    ring,
    run,
    onAnswer: (slot, fate, answer) => running.get(ring)?.answered(slot, fate, answer),
  })
  const one = { flow, ring, link }
  states.set(key, one)
  return one
}

/** By ring: the run that receives the answers of a link. */
const running = new Map<SessionRing, FlowRun>()

function linkOf({ protocol }: Flow, options: LinkOptions): Link {
  if (protocol === 'diameter') return new DiameterLink(options)
  return new HttpLink(protocol === 'json' ? json : keyValue, options)
}

async function run(job: Job): Promise<JobResult> {
  const all = job.flows.map(stateOf)
  await Promise.all(all.map(({ link }) => link.open()))
  const runs = all.map(({ flow, ring, link }) => {
    const one = new FlowRun(flow, ring, link)
    running.set(ring, one)
    return one
  })
  const pumpAll = () => {
    for (const one of runs) one.pump()
  }
  const isOpen = job.flows.some(({ phases }) => phases.some(({ perSecond }) => perSecond > 0))
  const tickMs = Math.min(...job.flows.map((flow) => flow.tickMs ?? TICK_MS))
  const metronome = isOpen ? await startMetronome(tickMs, pumpAll) : null
  const before = process.cpuUsage()
  const startedMs = performance.now()
  const timer = setInterval(pumpAll, CHECK_MS)
  await Promise.all(runs.map((one) => one.run()))
  clearInterval(timer)
  metronome?.stop()
  running.clear()
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - startedMs) / 1000
  return { flows: runs.map((one) => one.result()), cpuMicros: user + system, seconds }
}

function reports(): Reports[] {
  return [...states.values()].map(({ flow, ring }) => ({
    name: flow.name,
    firstSubscriber: flow.firstSubscriber,
    reports: [...ring.reports],
  }))
}

function release(): Promise<JobResult> {
  const flows = [...states.values()].map(({ flow, ring }) => {
    ring.drain()
    return { ...flow, phases: [{ perSecond: 0, seconds: RELEASE_SECONDS }] }
  })
  return run({ flows })
}

async function execute(order: Order): Promise<Report> {
  if (order.type === 'reports') return { type: 'reports', flows: reports() }
  const result = order.type === 'run' ? run(order.job) : release()
  return { type: 'result', result: await result }
}

const send = (report: Report) => process.send?.(report)
process.on('message', (order: Order) => {
  execute(order).then(send, (error: unknown) => send({ type: 'error', message: String(error) }))
})
process.on('disconnect', () => process.exit(0))
send({ type: 'ready' })
