/** Requests for more units than can be counted: the largest possible grant is repeatable. */
import { describe, expect, it } from 'vitest'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { RatingFixture } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const MOST = Number.MAX_SAFE_INTEGER

function sceneOf(price: string, connectionType: 'prepaid' | 'postpaid'): RatingFixture {
  const scene = new RatingFixture()
  const plan = planOf('PREPAID', { ...FAR, connectionType })
  scene.catalogue = catalogueOf([rateOf('DATA', 'data', price, FAR)], [plan])
  scene.profile = profileOf({ ...FAR, creditLimit: null })
  return scene
}

describe('repeated requests for the maximum number of units', () => {
  it.each([
    ['free of charge', '0/1', 'prepaid'],
    ['at a price, without a limit', '1/1', 'postpaid'],
    ['at a high price, without a limit', '1000000/1', 'postpaid'],
    ['at a price per large interval', '1/1048576', 'postpaid'],
    ['paid in advance', '2/10', 'prepaid'],
  ] as const)('%s', (_what, price, connectionType) => {
    const scene = sceneOf(price, connectionType)
    const ask = (used: number) => [serviceRequest({ usaget: 'data', requested: MOST, used })]
    const start = scene.send({ kind: 'start', requestNumber: 0, services: ask(0) })
    expect(start.services).toMatchObject([{ reason: 'granted' }])
    expect(start.services[0]?.granted).toBeGreaterThan(0)
    for (const requestNumber of [1, 2, 3]) {
      const next = scene.send({ kind: 'update', requestNumber, services: ask(50) })
      expect(next.services).toMatchObject([{ reason: 'granted' }])
      expect(next.services[0]?.granted).toBeGreaterThan(0)
    }
    const used = [serviceRequest({ usaget: 'data', used: 50 })]
    const end = scene.send({ kind: 'release', requestNumber: 4, services: used })
    expect(end).toMatchObject({ reason: 'granted', services: [{ reason: 'granted' }] })
    const [line] = scene.lines.slice(-1)
    expect(line?.counts.used).toBe(200)
  })
})
