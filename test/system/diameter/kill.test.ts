/** `kill -9` of the node, and of its Redis, while network elements repeat unanswered requests. */
// covers: src/realtime/diameter/ src/ledger/commit.ts src/ledger/replies.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate, topUp } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../../support/system/audited.ts'
import { Auditor } from '../../support/system/auditor.ts'
import { tollgate } from '../../support/system/command.ts'
import { plainJson } from '../../support/system/dialects/adapter.ts'
import { diameterWire } from '../../support/system/diameter/wire.ts'
import { killUnderLoad, SUBSCRIBERS } from '../../support/system/kills.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const SESSIONS = 75
const AUDITED = audited(ROUNDS, SUBSCRIBERS)
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
      const wire = diameterWire(() => product.diameterPort, CUT_PERCENT)
      const sessions = await killUnderLoad({
        ...{ product, population: AUDITED, victims: ['realtime', 'redis', 'realtime'] },
        ...{ seed: seed + round, sessions: SESSIONS },
        dialect: (index) => (index % 8 === 7 ? plainJson : wire),
        async atLast() {
          auditor.credited(await topUp({ ...product, ...AUDITED, credits: CREDITS }, `${round}`))
        },
      })
      const own = sessions.filter(({ dialect }) => dialect === wire.name)
      expect(own.filter(({ opened }) => opened).length).toBeGreaterThan(SESSIONS / 2)
      expect(await auditor.audit(sessions)).toEqual([])
    })
  }

  it('leaves the sums of all rounds on the lines', async () => {
    expect(await auditor.auditWhole()).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
