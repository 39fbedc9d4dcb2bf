/** Reads of personal data are recorded where `audit.reads` asks for it. */
import { expect, it } from 'vitest'
import { useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'

const world = useApiServer({ env: { TOLLGATE_AUDIT_READS: 'accounts' } })

const READS = { type: { $in: ['get', 'uniqueget', 'export'] } }

const recorded = () => world.stores().catalog.audit.find(READS).sort({ 'chain.seq': 1 }).toArray()

it('reads of personal data are recorded with ids of rows, without queried values', async () => {
  const account = await make(world, 'accounts', { lastname: 'Quimby' })
  const aid = Number(account.entity['aid'])
  await make(world, 'accounts', { lastname: 'Other' })
  await world.rows('accounts', { query: { aid } })
  await world.rows('accounts', { query: { lastname: 'Quimby' } }, 'uniqueget')
  await world.rows('accounts')
  const found = await recorded()
  expect(found.map(({ type, key }) => [type, key])).toEqual([
    ['get', String(aid)],
    ['uniqueget', String(aid)],
    ['get', ''],
  ])
  expect(found[0]?.new).toMatchObject({ rows: 1, keys: [String(aid)] })
  expect(found[1]?.new).toMatchObject({ queried: expect.arrayContaining(['lastname']) })
  expect(found[2]?.new).toMatchObject({ rows: 2 })
  expect(JSON.stringify(found)).not.toContain('Quimby')
})

it('reads of other collections are not recorded', async () => {
  const before = (await recorded()).length
  await world.rows('plans')
  await world.rows('subscribers')
  expect(await recorded()).toHaveLength(before)
})
