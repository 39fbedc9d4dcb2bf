/** Erasure of rejected usage records that name a subscriber, and beside a rerating. */
import { expect, it } from 'vitest'
import type { IntakeRejectedDocument } from '../../../src/catalog/records/usage/intake-documents.ts'
import { useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'

const world = useApiServer({ env: { TOLLGATE_RATING_COUNTRY_PREFIX: '49' } })

const NAMES = { firstname: 'Annabel', lastname: 'Quimby', address: '12 Wisteria Lane' }
const CREATED = new Date('2026-04-02')

function rejectedRecord(line: number, text: string): IntakeRejectedDocument {
  return {
    ...{ _id: `f:${line}`, file: 'f', file_name: 'a.csv', file_type: 'CALLS', line, text },
    ...{ field: 'record', reason: 'Rate not found', state: 'waiting' },
    ...{ created: CREATED, updated: CREATED },
  }
}

it('those with a number of the subscriber are erased, and dropped if they wait', async () => {
  const plan = String((await make(world, 'plans')).entity['name'])
  const aid = Number((await make(world, 'accounts')).entity['aid'])
  const numbers = { msisdn: '49170001', imsi: ['2620100000001'] }
  const given = { aid, plan, ...NAMES, ...numbers }
  const sid = Number((await make(world, 'subscribers', given)).entity['sid'])
  const { catalog } = world.stores()
  // Another subscriber, with a longer number and the same name.
  const other = rejectedRecord(4, '2026-04-01,491700010,Annabel,61')
  const binary = rejectedRecord(10, 'bf4f0c8001558307620201000010f1')
  const more = rejectedRecord(7, '2026-04-01,01700012,4930555,61')
  await catalog.intakerejected.insertMany([
    rejectedRecord(2, '2026-04-01,+49170001,4930555,61'),
    {
      ...rejectedRecord(3, '9926201000000014930555'),
      ...{ reason: 'is wrong: 2620100000001', state: 'corrected' },
    },
    other,
    rejectedRecord(5, '2026-04-01,0170001,4930555,61'),
    rejectedRecord(6, '2026-04-01,4930555,170001,61'),
    more,
    // Charging data records are hexadecimal; their numbers are TBCD or text.
    rejectedRecord(8, 'bf4f0c8001558307620201000000f1'),
    rejectedRecord(9, 'bf4f0f80013232363230313030303030303031'),
    binary,
  ])
  await world.ok('subscribers', 'erase', { query: { sid }, update: { force: true } })
  const job = () => catalog.jobs.findOne({ subject: `subscribers/${sid}` })
  await expect.poll(async () => (await job())?.state, { timeout: 60_000 }).toBe('done')
  const erased = { text: '(erased)', updated: expect.any(Date) }
  expect(await catalog.intakerejected.find().sort({ line: 1 }).toArray()).toEqual([
    { ...rejectedRecord(2, ''), ...erased, state: 'dropped' },
    { ...rejectedRecord(3, ''), ...erased, state: 'corrected', reason: 'is wrong: (erased)' },
    other,
    { ...rejectedRecord(5, ''), ...erased, state: 'dropped' },
    { ...rejectedRecord(6, ''), ...erased, state: 'dropped' },
    more,
    { ...rejectedRecord(8, ''), ...erased, state: 'dropped' },
    { ...rejectedRecord(9, ''), ...erased, state: 'dropped' },
    binary,
  ])
  expect((await job())?.counts).toMatchObject({ rejected_records: 6 })
})

it('erasing waits while lines of the account are priced again', async () => {
  const plan = String((await make(world, 'plans')).entity['name'])
  const aid = Number((await make(world, 'accounts')).entity['aid'])
  const sid = Number((await make(world, 'subscribers', { aid, plan, ...NAMES })).entity['sid'])
  const { catalog } = world.stores()
  await catalog.rerates.insertOne({ _id: `job/${aid}/202607`, aid, state: 'planned' } as never)
  await world.ok('subscribers', 'erase', { query: { sid }, update: { force: true } })
  const state = async () => (await catalog.jobs.findOne({ subject: `subscribers/${sid}` }))?.state
  await expect.poll(state, { timeout: 60_000 }).toBe('waiting')
  await catalog.rerates.deleteMany({})
  world.setNow('2026-06-15T12:10:00Z')
  await expect.poll(state, { timeout: 60_000 }).toBe('done')
})
