import { describe, expect, it } from 'vitest'
import { nameIn, servicesIn, textsIn } from '../src/pages/customer/revisions.ts'
import { isBeginChangeable, isEditable, revisionViews } from '../src/parts/revisions.ts'

const revision = (id: string, from: string, to: string, more: object) => ({
  _id: { $id: id },
  from,
  to,
  ...more,
})
const JANUARY = '2026-01-01T00:00:00+0000'
const MARCH = '2026-03-01T00:00:00+0000'
const APRIL = '2026-04-01T00:00:00+0000'
const NEVER = '2170-01-01T00:00:00+0000'

describe('revisions', () => {
  it('have their period, their plan and what changed', () => {
    const views = revisionViews([
      revision('a', JANUARY, MARCH, { plan: 'GOLD', services: [{ name: 'S' }] }),
      revision('b', MARCH, NEVER, { plan: 'SILVER', services: [] }),
    ])
    expect(views).toEqual([
      { id: 'a', from: JANUARY, to: MARCH, plan: 'GOLD', changed: [], isAfterGap: false },
      {
        id: 'b',
        from: MARCH,
        to: NEVER,
        plan: 'SILVER',
        changed: ['plan', 'services'],
        isAfterGap: false,
      },
    ])
  })

  it('show a gap', () => {
    const views = revisionViews([
      revision('a', JANUARY, MARCH, {}),
      revision('b', APRIL, NEVER, {}),
    ])
    expect(views.map(({ isAfterGap }) => isAfterGap)).toEqual([false, true])
  })
})

describe('after a confirmed cycle', () => {
  const info = (isBegunLater: boolean, isEndLater: boolean) => {
    const begin = { updatable: isBegunLater, closeandnewable: isBegunLater, movable: isBegunLater }
    return revision('a', JANUARY, NEVER, { revision_info: { ...begin, movable_to: isEndLater } })
  }

  it('a revision that lasts is edited, but keeps its begin', () => {
    expect([isEditable(info(false, true)), isBeginChangeable(info(false, true))]).toEqual([
      true,
      false,
    ])
  })

  it('a revision that ended before is not edited', () => {
    expect(isEditable(info(false, false))).toBe(false)
  })

  it('a later one is changed as a whole, also if the API has not said so', () => {
    for (const each of [info(true, true), revision('a', JANUARY, NEVER, {})]) {
      expect([isEditable(each), isBeginChangeable(each)]).toEqual([true, true])
    }
  })
})

describe('fields of a customer', () => {
  it('may be texts or lists of texts, or absent', () => {
    expect(textsIn({ msisdn: '4477' }, 'msisdn')).toEqual(['4477'])
    expect(textsIn({ msisdn: ['1', '2'] }, 'msisdn')).toEqual(['1', '2'])
    expect(textsIn({ msisdn: null }, 'msisdn')).toEqual([])
    expect(textsIn({}, 'msisdn')).toEqual([])
  })

  it.each([
    [{ firstname: 'Ada', lastname: 'Byron' }, 'Ada Byron'],
    [{ lastname: 'Byron' }, 'Byron'],
    [{ firstname: '', lastname: '' }, ''],
    [{}, ''],
  ])('%j is called %j', (document, name) => expect(nameIn(document)).toBe(name))

  it('have services as entries or names', () => {
    const services = ['A', { name: 'B', quantity: 2 }]
    expect(servicesIn({ services })).toEqual([
      { name: 'A', quantity: '' },
      { name: 'B', quantity: '2' },
    ])
    expect(servicesIn({})).toEqual([])
  })
})
