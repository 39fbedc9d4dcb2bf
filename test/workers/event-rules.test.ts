import { describe, expect, it } from 'vitest'
import { createEventRules } from '../../src/workers/event-rules.ts'
import { recordingLog } from '../support/catalog/store.ts'
import { changesOf } from '../support/workers/event-scene.ts'

const SUBJECT = { aid: 1, plan: 'P', services: () => [] }

function codesIn(rules: ReturnType<typeof createEventRules>) {
  return rules
    .now()
    ?.of(SUBJECT)
    ?.rules.map(({ document }) => document.event_code)
}

describe('the stored rules for events', () => {
  it('are replaced by each change, and none are as if there had never been any', () => {
    const { log, records } = recordingLog()
    const rules = createEventRules(log)
    expect(rules.now()).toBeNull()
    rules.follow({ balance: [changesOf('spent', 'A'), changesOf('balance.cost', 'B')] })
    const first = rules.now()
    expect(codesIn(rules)).toEqual(['A', 'B'])
    rules.follow({ balance: [changesOf('spent', 'A'), changesOf('balance.cost', 'B')] })
    expect(rules.now()).toBe(first)
    rules.follow({ balance: [{ ...changesOf('spent', 'A'), active: false }] })
    expect(rules.now()).toBeNull()
    rules.follow({ balance: [changesOf('spent', 'C')] })
    expect(codesIn(rules)).toEqual(['C'])
    rules.follow({})
    expect(rules.now()).toBeNull()
    expect(records).toEqual([])
  })

  it('are used without those that are invalid, which are logged', () => {
    const { log, records } = recordingLog()
    const rules = createEventRules(log)
    const unknown = changesOf('balance.nothing', 'A')
    const incomplete = { event_code: 'B' }
    rules.follow({ balance: [unknown, changesOf('spent', 'C'), incomplete, 'x'] })
    expect(codesIn(rules)).toEqual(['C'])
    expect(records).toMatchObject([
      { path: 'events.balance.0.conditions.0.paths.0.path' },
      { path: 'events.balance.2.conditions', reason: 'is missing' },
      { path: 'events.balance.3' },
    ])
    rules.follow('damaged')
    expect(rules.now()).toBeNull()
  })

  it('are used with receivers that an earlier release accepted', () => {
    const { log, records } = recordingLog()
    const rules = createEventRules(log)
    const email = { notify_by_email: { notify: true, additional_addresses: ['a,b@example.net'] } }
    const noUrl = { url: 'http://[::1/x' }
    rules.follow({ balance: [{ ...changesOf('spent', 'A'), ...email, ...noUrl }] })
    expect(codesIn(rules)).toEqual(['A'])
    expect(records).toEqual([])
  })
})
