import { describe, expect, it } from 'vitest'
import { bucketOrder, type OwnerState, paysFor } from '../../src/domain/bucket.ts'
import { expireSession } from '../../src/domain/expire.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { emptyService } from '../../src/domain/segment.ts'
import type { ServiceSession } from '../../src/domain/session.ts'
import { settle } from '../../src/domain/settle.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { startOf } from '../support/domain/programs.ts'
import { sessionOf } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'

const TARIFF = tariffFrom('1/1')

interface Owners {
  subscriber: OwnerState
  account: OwnerState
}

/** Uses units of a service and reserves further ones. */
function serve(owners: Owners, index: number, used: number, requested: number) {
  const next = startOf(TARIFF, { key: 'k' })
  const service = emptyService(serviceIdentity({ ratingGroup: index, usaget: 'data' }))
  const order = bucketOrder(owners.subscriber, owners.account, paysFor('data'), 0)
  const plain = { exact: false, order, nextOrder: order, atMs: 0, end: 'none' as const }
  const program = { ...plain, used, requested, next }
  const settled = settle({ ...owners, service }, program)
  return { service: settled.service, subscriber: settled.subscriber, account: settled.account! }
}

function abandoned() {
  let owners: Owners = {
    subscriber: ownerOf([bucketOf({ credited: 10, toMs: 500 }), moneyOf(10, { id: 2 })]),
    account: ownerOf([bucketOf({ credited: 40 })], { sid: 0 }),
  }
  const services: ServiceSession[] = []
  for (const [index, used, requested] of [
    [0, 3, 20],
    [1, 0, 9],
    [2, 2, 0],
  ] as const) {
    const { service, ...after } = serve(owners, index, used, requested)
    services.push(service)
    owners = after
  }
  return { owners, session: sessionOf({ services, lastNumber: 4, processed: 3 }) }
}

describe('an abandoned session', () => {
  const { owners, session } = abandoned()
  const expired = expireSession({ ...owners, session, sessionKey: 'k' }, 600, 10_000)

  it('held units before it expired', () => {
    expect(owners.subscriber.buckets[0]).toMatchObject({ reserved: 7, free: 0, spent: 3 })
    expect(owners.account.buckets[0]!.reserved).toBe(22)
  })

  it('returns all reserved units, also to a bucket that has ended', () => {
    expect(expired.subscriber.buckets[0]).toMatchObject({ reserved: 0, free: 7, spent: 3 })
    expect(expired.account.buckets[0]).toMatchObject({ reserved: 0, free: 38, spent: 2 })
    expect(expired.subscriber.owed).toBe(0)
  })

  it('ends the line of each used service and shows the forfeited units', () => {
    expect(
      expired.lines.map(({ stamp, version, state, counts: { used, forfeitedUnits } }) => ({
        stamp,
        version,
        state,
        used,
        forfeitedUnits,
      })),
    ).toEqual([
      { stamp: 'k-0-1-1', version: 2, state: 'expired', used: 3, forfeitedUnits: 7 },
      { stamp: 'k-0-3-1', version: 2, state: 'expired', used: 2, forfeitedUnits: 0 },
    ])
  })

  it('stays as a tombstone with its answers, and with services that hold no units', () => {
    const { services, ...rest } = expired.session
    expect({ ...rest, services: session.services }).toEqual({
      ...session,
      state: 'expired',
      expiresMs: 10_600,
    })
    const nothing = { units: 0, slices: [], money: [] }
    expect(services.map(({ reservation }) => reservation)).toEqual([nothing, nothing, nothing])
    const segments = services.map(({ segment }) => [segment?.number, segment?.version])
    expect(segments).toEqual([
      [1, 2],
      [1, 0],
      [1, 2],
    ])
  })

  it('adds late usage to its line and continues its price', () => {
    const { subscriber, account } = expired
    const order = bucketOrder(subscriber, account, paysFor('data'), 700)
    const plain = { exact: false, order, nextOrder: order, next: null, atMs: 700 }
    const late = { ...plain, used: 50, requested: 0 }
    const [, , service] = expired.session.services
    const settled = settle({ subscriber, account, service: service! }, { ...late, end: 'expired' })
    const [change] = settled.changes
    expect(settled.changes).toHaveLength(1)
    expect(change).toMatchObject({ state: 'expired', segment: { number: 1, version: 3 } })
    // 38 units of the account, then 10 micros, then debt: 52 in all with the two before.
    expect(change?.segment).toMatchObject({
      counts: { late: true, used: 52, chargedUnits: 12, charged: 12, debt: 2 },
    })
    expect(settled.service.segment).toBe(change?.segment)
    expect(settled.subscriber.owed).toBe(2)
  })

  it('is not changed in place', () => {
    expect({ owners, session }).toEqual(abandoned())
  })
})
