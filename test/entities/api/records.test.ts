/** Balances: a collection whose records are not entities. */
import { expect, it } from 'vitest'
import { useApiServer } from '../../support/entities/api/api-server.ts'
import { make, makeSubscriber } from '../../support/entities/api/creators.ts'

// With the recorder, which writes the collection that balances are read from.
const world = useApiServer({ env: { TOLLGATE_RECORDER_ENABLED: 'true' } })

it('balances have get, uniqueget, update and delete', async () => {
  const { sid, aid } = (await makeSubscriber(world)).entity
  const { external_id: id, name } = (await make(world, 'prepaidincludes')).entity
  const query = { sid, pp_includes_external_id: id }
  const body = await world.ok('balances', 'update', { query, update: { value: -10 } })
  expect(body).toMatchObject({ details: true, line: { type: 'balance', sid, aid } })
  const find = () => world.rows('balances', { query })
  await expect.poll(find).toMatchObject([{ sid, aid, pp_includes_name: name }])
  const [row] = await world.rows('balances', { query }, 'uniqueget')
  expect(row).toMatchObject({ balance: { totals: { data: { usagev: -10 } } } })
  const { _id } = row as unknown as { _id: { $id: string } }
  await world.ok('balances', 'delete', { query: { _id: _id.$id } })
  await expect.poll(find).toEqual([])
})
