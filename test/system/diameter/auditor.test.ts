/**
 * Network elements that speak Diameter, whose connections are cut and whose requests are repeated
 * over others, beside some that speak JSON: ledger and lines must agree.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../../support/system/audited.ts'
import { Auditor } from '../../support/system/auditor.ts'
import { tollgate } from '../../support/system/command.ts'
import { plainJson } from '../../support/system/dialects/adapter.ts'
import { diameterWire } from '../../support/system/diameter/wire.ts'
import { countersOf } from '../../support/system/mixed.ts'
import { runWorkload } from '../../support/system/workload.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['AUDIT_SESSIONS'] ?? 600)
const AUDITED = audited(SESSIONS / 1000)
/** Percentage of requests that lose their connection. */
const CUT_PERCENT = 4

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

describe(`the auditor over Diameter, seed ${seed}`, () => {
  it(`finds no difference after ${SESSIONS} sessions`, async () => {
    const wire = diameterWire(() => product.diameterPort, CUT_PERCENT)
    const truths = await runWorkload({
      seed,
      port: product.realtimePort,
      sessions: SESSIONS,
      clients: 32,
      dialect: (index) => (index % 8 === 7 ? plainJson : wire),
      ...AUDITED,
      patienceMs: 30_000,
    })
    expect(truths).toHaveLength(SESSIONS)
    const auditor = new Auditor(product, AUDITED)
    expect(await auditor.audit(truths)).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    const own = truths.filter(({ dialect }) => dialect === wire.name)
    expect(own.filter(({ opened }) => opened).length).toBeGreaterThan(own.length / 2)
    expect(own.reduce((sum, truth) => sum + truth.repeated, 0)).toBeGreaterThan(0)
  })
})
