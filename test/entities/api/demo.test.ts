/**
 * The demo catalogue satisfies the rules of the entity API, and equals what the API would store.
 */

import { describe, expect, it } from 'vitest'
import { DEMO_ENTITIES, seedDemoCatalogue, seedDemoSettings } from '../../../src/catalog/demo.ts'
import { DEMO_BY } from '../../support/catalog/store.ts'
import { type Fields, useApiServer } from '../../support/entities/api/api-server.ts'

const world = useApiServer()

/** Assigned by the node, or dependent on the order of writes. */
const ASSIGNED = ['_id', 'rev', 'aid', 'sid']

function withoutAssigned(document: Fields): Fields {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !ASSIGNED.includes(name)))
}

function nameOf(collection: string, { type }: Fields): string {
  return type === 'account' ? 'accounts' : collection
}

describe('each entity of the demo', () => {
  it('is created by the API with the same fields as by the seed', async () => {
    const { catalog } = world.stores()
    await seedDemoCatalogue(catalog, DEMO_BY)
    await seedDemoSettings(catalog, DEMO_BY)
    const seeded = []
    for (const { collection, document } of DEMO_ENTITIES) {
      const { key, name, sid, aid, type } = document
      const which = key ? { key } : name ? { name } : sid ? { sid } : { aid, type }
      seeded.push(await catalog[collection as 'plans'].findOne(which as object))
      await catalog[collection as 'plans'].deleteMany(which as object)
    }
    let account: unknown
    for (const [index, { collection, document }] of DEMO_ENTITIES.entries()) {
      const { sid: _, type: _type, aid, from, ...fields } = document
      const update = {
        ...fields,
        from: (from as Date).toISOString(),
        ...(aid ? { aid: account } : {}),
      }
      const api = nameOf(collection, document)
      const { entity, warnings } = await world.ok(api, 'create', { update })
      expect([api, warnings]).toEqual([api, undefined])
      if (api === 'accounts') account = entity['aid']
      const id = { _id: entity._id.$id }
      const [read] = await world.rows(api, { query: id, project: {} })
      expect(read).toBeDefined()
      const stored = await catalog[collection as 'plans']
        .find()
        .sort({ rev: -1 })
        .limit(1)
        .toArray()
      expect(withoutAssigned(stored[0] as unknown as Fields)).toEqual(
        withoutAssigned(seeded[index] as unknown as Fields),
      )
    }
  })
})
