// covers: src/ledger/ src/recorder/ src/realtime/port-handover.ts src/realtime/inline-worker.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate, topUp } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import { tollgate } from '../support/system/command.ts'
import { inTurn, setAllFileTypes } from '../support/system/dialects/all.ts'
import { killUnderLoad, ROLES, SUBSCRIBERS, VICTIMS } from '../support/system/kills.ts'
import { countersOf } from '../support/system/mixed.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const SESSIONS = 150
const AUDITED = audited(ROUNDS, SUBSCRIBERS)

/** In each round a charging process of one kind is killed, and replaced by one of the other. */
const KINDS = ['thread', 'inline'] as const
const kindAfter = (round: number) => ({
  TOLLGATE_REALTIME_WORKER_KIND: KINDS[round % KINDS.length] as string,
})

let product: Product
let auditor: Auditor
/** Read when a role starts. */
const environment = { ...FAST_EXPIRY, ...kindAfter(0) }

beforeAll(async () => {
  // The admin process has a recorder too: two recorders share the streams.
  product = await startProduct({ appendfsync: 'always', environment })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await setAllFileTypes(product)
  auditor = new Auditor(product, AUDITED)
  for (const role of ROLES) await product.start(role)
})
afterAll(() => product?.stop())

describe(`kill -9 under load, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: nothing acknowledged is lost or doubled`, async () => {
      Object.assign(environment, kindAfter(round))
      const sessions = await killUnderLoad({
        ...{ product, population: AUDITED, victims: VICTIMS },
        ...{ seed: seed + round, sessions: SESSIONS, dialect: inTurn },
        // For the next round, and during the load: otherwise no subscriber could pay any longer.
        async atLast() {
          auditor.credited(await topUp({ ...product, ...AUDITED, credits: CREDITS }, `${round}`))
        },
      })
      expect(sessions.filter((one) => one.opened).length).toBeGreaterThan(SESSIONS / 2)
      expect(await auditor.audit(sessions)).toEqual([])
    })
  }

  it('leaves the sums of all rounds on the lines', async () => {
    expect(await auditor.auditWhole()).toEqual([])
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
