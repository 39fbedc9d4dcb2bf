import { beforeAll, describe, expect, it } from 'vitest'
import { usedby } from '../../../src/admin/actions/used-by.ts'
import { NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([usedby])

beforeAll(async () => {
  const catalog = api.catalog()
  const ordinary = { rev: 1, from: new Date(0), to: new Date('2170-01-01') }
  const holder = (fields: object) => {
    return catalog.subscribers.insertOne({ type: 'subscriber', ...ordinary, ...fields } as never)
  }
  await holder({ aid: 1, sid: 11, plan: 'GOLD', services: [{ name: 'TV' }] })
  await holder({ aid: 1, sid: 12, plan: 'GOLD', to: new Date(NOW_MS - 1) })
  await holder({ aid: 1, sid: 13, plan: 'GOLD', deleted: true })
  await holder({ aid: 1, sid: 14, plan: 'GOLD', from: new Date(NOW_MS + 60_000) })
  await holder({ type: 'account', aid: 1, services: [{ name: 'TV' }] })
  for (let sid = 100; sid < 201; sid += 1) await holder({ aid: 2, sid, plan: 'CROWDED' })
  const plan = (fields: object) => catalog.plans.insertOne({ ...ordinary, ...fields } as never)
  await plan({ name: 'GOLD', include: { services: ['TV'] }, rates: { CALL: { call: {} } } })
  await plan({ name: 'GOLD', from: new Date(1), tax: [{ custom_tax: 'REDUCED' }] })
  await plan({ name: 'OLD', rates: { CALL: { call: {} } }, to: new Date(NOW_MS - 1) })
  await plan({ name: 'SMALL', pp_threshold: { 7: 100 } })
})

async function usersOf(collection: string, key: string) {
  const answer = await api.ask('usedby', { collection, key })
  expect(answer).toMatchObject({ status: 1 })
  return answer['details']
}

const use = (collection: string, field: string, ...keys: string[]) => {
  return { collection, field, keys, count: keys.length, more: false }
}

describe('usedby', () => {
  it('lists who refers to an entity now or later, each once', async () => {
    expect(await usersOf('plans', 'GOLD')).toEqual([use('subscribers', 'plan', '11', '14')])
    expect(await usersOf('services', 'TV')).toEqual([
      use('plans', 'include.services', 'GOLD'),
      use('subscribers', 'services.name', '11'),
      use('accounts', 'services.name', '1'),
    ])
    expect(await usersOf('rates', 'CALL')).toEqual([use('plans', 'rates.CALL', 'GOLD')])
    expect(await usersOf('taxes', 'REDUCED')).toEqual([use('plans', 'tax.custom_tax', 'GOLD')])
    expect(await usersOf('prepaidincludes', '7')).toEqual([use('plans', 'pp_threshold.7', 'SMALL')])
    expect(await usersOf('plans', 'NONE')).toEqual([])
  })

  it('says that there are more than it lists', async () => {
    const [found] = (await usersOf('plans', 'CROWDED')) as { count: number; more: boolean }[]
    expect(found).toMatchObject({ count: 100, more: true })
  })

  it.each(['', 'A.B', '$where'])('refuses %j, which is no key', async (key) => {
    expect(await api.ask('usedby', { collection: 'rates', key })).toMatchObject({ status: 0 })
  })

  it('refuses other collections', async () => {
    expect(await api.ask('usedby', { collection: 'users', key: 'A' })).toMatchObject({ status: 0 })
  })
})
