/**
 * Network elements with different message formats charge the same accounts: ledger and lines must
 * agree.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../../support/system/audited.ts'
import { Auditor } from '../../support/system/auditor.ts'
import { tollgate } from '../../support/system/command.ts'
import { DIALECTS, inTurn, setAllFileTypes } from '../../support/system/dialects/all.ts'
import { countersOf } from '../../support/system/mixed.ts'
import { runWorkload } from '../../support/system/workload.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['AUDIT_SESSIONS'] ?? 600)
const AUDITED = audited(SESSIONS / 1000)

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await setAllFileTypes(product)
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

describe(`the auditor with every message format at once, seed ${seed}`, () => {
  it(`finds no difference after ${SESSIONS} sessions`, async () => {
    const truths = await runWorkload({
      seed,
      port: product.realtimePort,
      sessions: SESSIONS,
      clients: 42,
      dialect: inTurn,
      ...AUDITED,
      patienceMs: 30_000,
    })
    expect(truths).toHaveLength(SESSIONS)
    const auditor = new Auditor(product, AUDITED)
    expect(await auditor.audit(truths)).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    // Each format was used, and had repeated requests.
    const names = [...DIALECTS.map(({ name }) => name), 'running totals']
    expect(new Set(truths.map(({ dialect }) => dialect))).toEqual(new Set(names))
    for (const name of names) {
      const own = truths.filter(({ dialect }) => dialect === name)
      expect(own.filter(({ opened }) => opened).length, name).toBeGreaterThan(own.length / 2)
      const repeated = own.reduce((sum, truth) => sum + truth.repeated, 0)
      expect(repeated, `${name} repeated`).toBeGreaterThan(0)
    }
  })
})
