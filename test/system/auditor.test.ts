/**
 * Network elements with different message formats charge the same accounts: ledger, lines and
 * counters must agree. With processes, as the elements have sockets that are cut.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PATIENT } from '../support/product/patience.ts'
import { populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import { tollgate } from '../support/system/command.ts'
import { inTurnWith, NAMES, setAllFileTypes } from '../support/system/dialects/all.ts'
import { diameterWire } from '../support/system/diameter/wire.ts'
import type { SessionTruth } from '../support/system/expected-sessions.ts'
import { countersOf, kindOf } from '../support/system/mixed.ts'
import { runWorkload } from '../support/system/workload.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['AUDIT_SESSIONS'] ?? 2000)
const AUDITED = audited(SESSIONS / 1000)
/** Percentage of Diameter requests that lose their connection. */
const CUT_PERCENT = 4

let product: Product
let auditor: Auditor
let truths: SessionTruth[] = []
const wire = diameterWire(() => product.diameterPort, CUT_PERCENT)

beforeAll(async () => {
  product = await startProduct({ environment: { ...PATIENT, ...FAST_EXPIRY } })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await setAllFileTypes(product)
  await product.start('realtime')
  await product.start('admin')
  auditor = new Auditor(product, AUDITED)
})
afterAll(() => product?.stop())

describe(`the auditor, seed ${seed}`, () => {
  it(`finds no difference after ${SESSIONS} sessions`, async () => {
    truths = await runWorkload({
      seed,
      port: product.realtimePort,
      sessions: SESSIONS,
      clients: 48,
      dialect: inTurnWith(wire),
      ...AUDITED,
      patienceMs: 60_000,
    })
    expect(truths).toHaveLength(SESSIONS)
    expect(truths.filter((truth) => truth.opened).length).toBeGreaterThan(SESSIONS / 2)
    expect(await auditor.audit(truths)).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })

  it('has seen every counter, and postpaid subscribers at and below their limits', () => {
    expect(auditor.counted()).toEqual(countersOf(AUDITED.mix))
    const postpaid = truths.filter(({ sid }) => kindOf(sid) === 'postpaid')
    const refused = postpaid.filter(({ opened }) => !opened).length
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(postpaid.length / 2)
  })

  it('knows the formats of all sessions', () => {
    expect(new Set(truths.map(({ dialect }) => dialect))).toEqual(new Set([...NAMES, wire.name]))
  })

  it.each([...NAMES, wire.name])('has seen sessions and repeated requests in %s', (name) => {
    const own = truths.filter(({ dialect }) => dialect === name)
    expect(own.filter(({ opened }) => opened).length).toBeGreaterThan(own.length / 2)
    expect(own.reduce((sum, truth) => sum + truth.repeated, 0)).toBeGreaterThan(0)
  })
})
