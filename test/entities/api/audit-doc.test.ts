/** docs/AUDIT.md: its example is the answer of the node. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { idOf, useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'

const text = readFileSync(new URL('../../../docs/AUDIT.md', import.meta.url), 'utf8')

const world = useApiServer()

/** Ids and stamps differ each time. */
function withoutIds(answer: unknown): unknown {
  const ids = /"(\$id|stamp|prev|hash)":"[0-9a-f]+"/g
  return JSON.parse(JSON.stringify(answer).replaceAll(ids, '"$1":"any"'))
}

it('shows a record as the API returns it', async () => {
  const query = { _id: idOf(await make(world, 'plans', { name: 'GOLD', description: 'Gold' })) }
  await world.ok('plans', 'update', { query, update: { description: 'Gold 2026' } })
  const [, body = '', answer = ''] =
    /call=audit\/get\n([\s\S]*?)\n```\n```json answer\n([\s\S]*?)\n```/.exec(text) ?? []
  const shown = await world.ok('audit', 'get', JSON.parse(body), 'json')
  expect(withoutIds(shown)).toEqual(withoutIds(JSON.parse(answer)))
})
