import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import { tollgate } from '../support/system/command.ts'
import { countersOf, kindOf } from '../support/system/mixed.ts'
import { runWorkload } from '../support/system/workload.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['AUDIT_SESSIONS'] ?? 2000)
const AUDITED = audited(SESSIONS / 1000)

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

describe(`the auditor, seed ${seed}`, () => {
  it(`finds no difference after ${SESSIONS} sessions`, async () => {
    const truths = await runWorkload({
      seed,
      port: product.realtimePort,
      sessions: SESSIONS,
      clients: 40,
      ...AUDITED,
      patienceMs: 30_000,
    })
    expect(truths).toHaveLength(SESSIONS)
    expect(truths.filter((truth) => truth.opened).length).toBeGreaterThan(SESSIONS / 2)
    const auditor = new Auditor(product, AUDITED)
    expect(await auditor.audit(truths)).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    // Some have reached their limit, and most have not.
    const postpaid = truths.filter(({ sid }) => kindOf(sid) === 'postpaid')
    const refused = postpaid.filter(({ opened }) => !opened).length
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(postpaid.length / 2)
  })
})
