/** Erasure of a person in events (answers of the receiver, free texts), and by conditions. */
import { expect, it } from 'vitest'
import { useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'
import { eventOf } from '../../support/notifications/event.ts'

const world = useApiServer()
const NAMED = { firstname: 'Annabel', lastname: 'Quimby', address: '12 Wisteria Lane' }

it('erases events of the subscriber, and none of others of the account', async () => {
  const plan = String((await make(world, 'plans')).entity['name'])
  const aid = Number((await make(world, 'accounts', NAMED)).entity['aid'])
  const person = { ...NAMED, aid, plan, msisdn: '49170001', imsi: ['262010001'] }
  const sid = Number((await make(world, 'subscribers', person)).entity['sid'])
  const { events, jobs } = world.stores().catalog
  const row = { amount: 5, reason: 'Annabel has called' }
  const answered = { extra_params: { aid, sid, row }, returned_value: '{"name":"Annabel"}' }
  const other = { extra_params: { aid, sid: sid + 1, row }, returned_value: 'of another one' }
  await events.insertMany([
    { ...eventOf('mine'), ...answered },
    { ...eventOf('other'), ...other },
  ] as never[])
  await world.ok('subscribers', 'erase', { query: { sid }, update: { force: true } })
  const isDone = async () => (await jobs.findOne({ subject: `subscribers/${sid}` }))?.state
  await expect.poll(isDone, { timeout: 60_000 }).toBe('done')
  expect(await events.findOne({ stamp: 'mine' })).toMatchObject({
    extra_params: { aid, sid, row: { amount: 5, reason: '(erased)' } },
    returned_value: '(erased)',
    delivery: { state: 'pending' },
  })
  expect(await events.findOne({ stamp: 'other' })).toMatchObject(other)
})

it('refuses a condition in place of a number', async () => {
  for (const value of [{ $gt: 0 }, { $in: [1, 2] }, { $eq: 1 }, [1]]) {
    const ofOne = await world.refused('subscribers', 'erase', { query: { sid: value } })
    expect(JSON.stringify(ofOne)).toMatch(/query\.sid[^}]*must be (?:one|an) integer/)
    const ofAccount = await world.refused('accounts', 'erase', { query: { aid: value } })
    expect(JSON.stringify(ofAccount)).toMatch(/query\.aid[^}]*must be (?:one|an) integer/)
  }
  const query = { aid: 17, $or: [{ aid: 18 }] }
  const ofTwo = await world.refused('accounts', 'erase', { query })
  expect(JSON.stringify(ofTwo)).toContain('query.aid must be one integer, and the only condition')
})
