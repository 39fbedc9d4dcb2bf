// covers: src/ledger/ src/recorder/ src/realtime/port-handover.ts
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate, topUp } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import { tollgate } from '../support/system/command.ts'
import { inTurn, setAllFileTypes } from '../support/system/dialects/all.ts'
import { countersOf } from '../support/system/mixed.ts'
import { Random } from '../support/system/random.ts'
import { withRecentLogs } from '../support/system/recent-logs.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const SESSIONS = 300
const AUDITED = audited(ROUNDS)
/** Sessions that have to finish after a part is restarted, before the next one is killed. */
const RECOVERED = 24
const ROLES = ['realtime', 'admin', 'recorder'] as const
/** An external MongoDB cannot be killed. */
const STORES = process.env['TEST_MONGO_URL'] === undefined ? ['redis', 'mongo'] : ['redis']
const VICTIMS = [...ROLES, ...STORES] as ((typeof ROLES)[number] | 'redis' | 'mongo')[]

let product: Product
let auditor: Auditor

beforeAll(async () => {
  // The admin process has a recorder too: two recorders share the streams.
  product = await startProduct({ appendfsync: 'always', environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await setAllFileTypes(product)
  auditor = new Auditor(product, AUDITED)
  for (const role of ROLES) await product.start(role)
})
afterAll(() => product?.stop())

/** Finished sessions of the workload of this round. */
let finished = 0

/** Kills a part under load, leaves it dead for a moment, and waits until the load recovers. */
async function killOne(random: Random, victim: (typeof VICTIMS)[number]): Promise<void> {
  await pause(random.between(50, 700))
  await product.kill9(victim)
  await pause(random.below(300))
  await product.start(victim)
  const before = finished
  await waitUntil(`sessions finish after ${victim} is back`, () => finished >= before + RECOVERED)
}

describe(`kill -9 under load, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: nothing acknowledged is lost or doubled`, async () => {
      const random = new Random(seed + round)
      let isKilling = true
      finished = 0
      const workload = runWorkload({
        seed: seed + round,
        port: product.realtimePort,
        sessions: SESSIONS,
        clients: 24,
        ...AUDITED,
        dialect: inTurn,
        patienceMs: 60_000,
        goesOn: () => isKilling,
        onSession: (count) => {
          finished = count
        },
      })
      // In random order; a rejected workload must be reported meanwhile.
      const victims = random.shuffled(VICTIMS)
      const kills = (async () => {
        for (const victim of victims) await killOne(random, victim)
        // For the next round, and during the load: otherwise no subscriber could pay any longer.
        auditor.credited(await topUp({ ...product, ...AUDITED, credits: CREDITS }, `${round}`))
      })().finally(() => {
        isKilling = false
      })
      const [sessions] = await withRecentLogs(product, Promise.all([workload, kills]))
      expect(sessions.filter((one) => one.opened).length).toBeGreaterThan(SESSIONS / 4)
      expect(await auditor.audit(sessions)).toEqual([])
    })
  }

  it('leaves the sums of all rounds on the lines', async () => {
    expect(await auditor.auditWhole()).toEqual([])
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
