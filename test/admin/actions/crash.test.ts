/**
 * A process that dies before any one of its commands to MongoDB: a repetition with the same key
 * finishes the call, and nothing is written twice.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { bulkcredit } from '../../../src/admin/actions/bulkcredit.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { type Fields, NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'

const api = useActionServer([credit, bulkcredit], TAXED)
beforeAll(() => addTenant(api.catalog()))

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1, aprice: 10 }
const LEASE_MS = 30_000

interface Written {
  readonly lines: number
  readonly audited: number
}

async function written(): Promise<Written> {
  const { lines, audit } = api.catalog()
  const [count, audited] = await Promise.all([
    lines.countDocuments(),
    audit.countDocuments({ type: 'credit' }),
  ])
  return { lines: count, audited }
}

/** Dies before each command in turn, until one attempt completes. */
async function everyDeath(name: string, params: Fields, whole: Written): Promise<void> {
  let deaths = 0
  for (let operations = 0; operations < 80; operations += 1) {
    const { catalog } = api
    await catalog().lines.deleteMany({})
    await catalog().audit.deleteMany({ type: 'credit' })
    api.at(NOW_MS)
    const key = `${JSON.stringify(params).length}-${operations}`
    const dying = await dyingAfter(api.mongo(), operations)
    const process = await api.again(dying.catalog)
    const first = await process.ask(name, params, { key, as: 'json' })
    await process.close()
    await dying.close()
    const before = await written()
    if (before.lines > 0) expect(before).toEqual(whole)
    api.at(NOW_MS + LEASE_MS + 1)
    const second = await api.ask(name, params, { key, as: 'json' })
    expect([operations, second['status']]).toEqual([operations, 1])
    expect([operations, await written()]).toEqual([operations, whole])
    const third = await api.ask(name, params, { key, as: 'json' })
    expect(third.text).toBe(second.text)
    if (dying.died()) {
      deaths += 1
      continue
    }
    expect(first.text).toBe(second.text)
    expect(deaths).toBeGreaterThan(5)
    return
  }
  throw new Error('no attempt completed')
}

describe('a repetition after the death of the process', () => {
  it('finishes a credit', async () => {
    await everyDeath('credit', FEE, { lines: 1, audited: 1 })
  })

  it('finishes installments', async () => {
    await everyDeath('credit', { ...FEE, installments: 3 }, { lines: 3, audited: 1 })
  })

  it('finishes a bulk', async () => {
    const credits = [FEE, { ...FEE, installments: 2 }]
    await everyDeath('bulkcredit', { credits }, { lines: 3, audited: 2 })
  })
})
