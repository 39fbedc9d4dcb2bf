import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate } from '../../bench/population.ts'
import { type Product, startProduct } from '../../bench/product.ts'
import { AUDITED, CREDITS, FAST_EXPIRY, seedOf } from './audited.ts'
import { audit } from './auditor.ts'
import { runWorkload } from './workload.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['AUDIT_SESSIONS'] ?? 2000)

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

describe(`the auditor, seed ${seed}`, () => {
  it(`agrees with the books after ${SESSIONS} sessions`, async () => {
    const truths = await runWorkload({
      ...{ seed, port: product.realtimePort, sessions: SESSIONS, clients: 40 },
      ...AUDITED,
      patienceMs: 30_000,
    })
    expect(truths).toHaveLength(SESSIONS)
    expect(truths.filter((truth) => truth.opened).length).toBeGreaterThan(SESSIONS / 2)
    expect(await audit(product, AUDITED, truths)).toEqual([])
  })
})
