/** When loaded credit may be used, by clocks that differ or have whole seconds. */
import { describe, expect, it } from 'vitest'
import { bucketOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'
import { ruleSetOf } from '../support/workers/event-scene.ts'

const LOADED_MS = START_MS + 600_700
const TO_MS = START_MS + 86_400_000
const MINUTE_MS = 60_000
const data = (requested: number, used = 0) => serviceRequest({ requested, used })

/** An open session without credit, and a bucket of 100 units that begins at the load. */
function sceneOf(slot: 0 | 1 = 0, toMs = TO_MS, others = {}) {
  const loaded = { fromMs: LOADED_MS, toMs, credited: 100 }
  const scene = new RatingFixture({ PACK: { slot, bucket: bucketOf(loaded) }, ...others })
  scene.nowMs = LOADED_MS - 1_000
  scene.send({ kind: 'start', requestNumber: 0, services: [] })
  scene.nowMs = LOADED_MS + 200
  return scene
}

describe('credit loaded a moment ago', () => {
  it.each([
    ['of this second', LOADED_MS - 700],
    ['of a clock that is two seconds behind', LOADED_MS - 2_000],
    ['of a clock that is as far behind as clocks may be', LOADED_MS + 200 - 5 * MINUTE_MS],
    ['of a clock that is ahead', LOADED_MS + 5_000],
  ])('pays at a time %s', (_, eventTimeMs) => {
    for (const slot of [0, 1] as const) {
      const scene = sceneOf(slot)
      const update = { kind: 'update' as const, requestNumber: 1, services: [data(60)] }
      const outcome = scene.send({ ...update, eventTimeMs, wantBalances: true })
      expect(outcome.services).toMatchObject([{ reason: 'granted', granted: 60 }])
      expect(outcome.balances).toHaveLength(1)
      const release = { kind: 'release' as const, requestNumber: 2, services: [data(-1, 90)] }
      scene.send({ ...release, eventTimeMs })
      expect(scene.bucket('PACK')).toMatchObject({ free: 10, spent: 90 })
    }
  })

  it('does not pay for an event before it that only arrives late', () => {
    const scene = sceneOf()
    const eventTimeMs = scene.nowMs - 5 * MINUTE_MS - 1
    const update = { kind: 'update' as const, requestNumber: 1, services: [data(60)] }
    expect(scene.send({ ...update, eventTimeMs }).services[0]?.reason).toBe('noCredit')
  })

  it('does not pay before it begins by the clock of the node, nor from its end on', () => {
    const scene = sceneOf()
    scene.nowMs = LOADED_MS - 1
    const update = { kind: 'update' as const, requestNumber: 1, services: [data(60)] }
    expect(scene.send(update).services[0]?.reason).toBe('noCredit')
    const ended = sceneOf(0, LOADED_MS + 100)
    const late = { ...update, eventTimeMs: LOADED_MS + 100 }
    expect(ended.send(late).services[0]?.reason).toBe('noCredit')
    expect(ended.send({ ...update, requestNumber: 2, eventTimeMs: LOADED_MS }).reason).toBe(
      'granted',
    )
  })

  it('lifts an action that stopped the service for lack of it', () => {
    const few = bucketOf({ id: 9, credited: 5, prepaidIncludeId: 9, toMs: TO_MS, priority: 1 })
    const scene = sceneOf(0, TO_MS, { FEW: { slot: 0, bucket: few } })
    const path = 'balance.totals.data.usagev'
    scene.actionRules = ruleSetOf({
      event_code: 'EMPTY',
      conditions: [{ type: 'reached_constant' as const, value: -10, paths: [{ path }] }],
      action: { type: 'bar' },
    }).withActions
    const update = { kind: 'update' as const, requestNumber: 1, services: [data(60)] }
    const outcome = scene.send({ ...update, eventTimeMs: LOADED_MS - 700 })
    expect(outcome.services).toMatchObject([{ reason: 'granted', granted: 60 }])
  })
})
