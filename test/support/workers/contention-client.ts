/**
 * One process of the contention test: two workers, several clients, all on one account. Prints its
 * statistics as one line of JSON.
 */

import {
  openProcessorFixture,
  type ProcessorFixture,
  request,
  service,
} from './processor-fixture.ts'
import { createRandom, type Random } from './random.ts'

export interface ClientPlan {
  url: string
  name: string
  seed: number
  clients: number
  rounds: number
  /** Sessions that a client has open at once. */
  width: number
}

export interface ClientReport {
  sessions: number
  used: number
  answers: Record<string, number>
  /** Retransmissions with a different answer than the first time. */
  differing: number
  defects: string[]
}

interface Drive {
  nodes: ProcessorFixture[]
  random: Random
  report: ClientReport
}

/** Sends requests in one batch; some of them twice, to either node. */
async function send(drive: Drive, requests: ReturnType<typeof request>[]): Promise<void> {
  const { nodes, random, report } = drive
  const outcomes = await random.pick(nodes).charge(...requests)
  for (const { reason } of outcomes) report.answers[reason] = (report.answers[reason] ?? 0) + 1
  const again = requests.flatMap((one, index) =>
    random.chance(0.2) ? [{ one, first: outcomes[index] }] : [],
  )
  const repeated = await random.pick(nodes).charge(...again.map(({ one }) => one))
  for (const [index, outcome] of repeated.entries()) {
    const first = again[index]?.first
    if (JSON.stringify(outcome) !== JSON.stringify(first)) report.differing += 1
  }
}

async function runClient(drive: Drive, plan: ClientPlan, client: number): Promise<void> {
  const { random, report } = drive
  for (let round = 0; round < plan.rounds; round += 1) {
    const sessions = Array.from({ length: plan.width }, (_, index) => ({
      sid: random.below(99) + 1,
      more: { sessionId: `${plan.name}-${client}-${round}-${index}` },
    }))
    const use = () => {
      const used = random.below(1_200)
      report.used += used
      return used
    }
    report.sessions += sessions.length
    const all = (kind: 'start' | 'update' | 'release', number: number, requested: number) =>
      sessions.map(({ sid, more }) =>
        request(kind, sid, number, [service(requested, kind === 'start' ? 0 : use())], more),
      )
    await send(drive, all('start', 0, 1_000))
    await send(drive, all('update', 1, 1_000))
    await send(drive, all('update', 2, 500))
    await send(drive, all('release', 3, -1))
  }
}

export async function runClients(plan: ClientPlan): Promise<ClientReport> {
  const nodes = [await openProcessorFixture(plan.url), await openProcessorFixture(plan.url)]
  const report: ClientReport = { sessions: 0, used: 0, answers: {}, differing: 0, defects: [] }
  const drive = { nodes, random: createRandom(plan.seed), report }
  const clients = Array.from({ length: plan.clients }, (_, client) =>
    runClient(drive, plan, client),
  )
  await Promise.all(clients)
  for (const node of nodes) {
    report.defects.push(...node.defects.map(String))
    await node.close()
  }
  return report
}
