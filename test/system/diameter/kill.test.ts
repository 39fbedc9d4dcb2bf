/** `kill -9` of the node, and of its Redis, while network elements repeat unanswered requests. */
// covers: src/realtime/diameter/ src/ledger/commit.ts src/ledger/replies.ts
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate, topUp } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../../support/system/audited.ts'
import { Auditor } from '../../support/system/auditor.ts'
import { tollgate } from '../../support/system/command.ts'
import { plainJson } from '../../support/system/dialects/adapter.ts'
import { diameterWire } from '../../support/system/diameter/wire.ts'
import { Random } from '../../support/system/random.ts'
import { withRecentLogs } from '../../support/system/recent-logs.ts'
import { runWorkload } from '../../support/system/workload.ts'
import { waitUntil } from '../../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const SESSIONS = 150
const AUDITED = audited(ROUNDS)
const VICTIMS = ['realtime', 'redis', 'realtime'] as const
/** Sessions that have to finish after a part is restarted, before the next one is killed. */
const RECOVERED = 24
/** Percentage of requests that lose their connection on their own. */
const CUT_PERCENT = 2

let product: Product
let auditor: Auditor

beforeAll(async () => {
  product = await startProduct({ appendfsync: 'always', environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  auditor = new Auditor(product, AUDITED)
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

describe(`kill -9 under a load of Diameter, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: nothing acknowledged is lost or doubled`, async () => {
      const random = new Random(seed + round)
      const wire = diameterWire(() => product.diameterPort, CUT_PERCENT)
      let isKilling = true
      let finished = 0
      const workload = runWorkload({
        seed: seed + round,
        port: product.realtimePort,
        sessions: SESSIONS,
        clients: 24,
        ...AUDITED,
        dialect: (index) => (index % 8 === 7 ? plainJson : wire),
        patienceMs: 60_000,
        goesOn: () => isKilling,
        onSession: (count) => {
          finished = count
        },
      })
      const kills = (async () => {
        for (const victim of random.shuffled(VICTIMS)) {
          await pause(random.between(50, 700))
          await product.kill9(victim)
          await product.start(victim)
          const before = finished
          const isBack = () => finished >= before + RECOVERED
          await waitUntil(`sessions finish after ${victim} is back`, isBack)
        }
        const credits = { ...product, ...AUDITED, credits: CREDITS }
        auditor.credited(await topUp(credits, `${round}`))
      })().finally(() => {
        isKilling = false
      })
      const [sessions] = await withRecentLogs(product, Promise.all([workload, kills]))
      const own = sessions.filter(({ dialect }) => dialect === wire.name)
      expect(own.filter(({ opened }) => opened).length).toBeGreaterThan(SESSIONS / 4)
      expect(await auditor.audit(sessions)).toEqual([])
    })
  }

  it('leaves the sums of all rounds on the lines', async () => {
    expect(await auditor.auditWhole()).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
