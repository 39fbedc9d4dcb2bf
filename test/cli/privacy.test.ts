/** `erase`, `job list` and `audit --records`, as an operator runs them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAudit } from '../../src/catalog/audit/audit.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { runOn } from '../support/cli/tollgate.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const ACTOR = { by: 'cli', id: '', name: 'tester', address: '' } as const

let stores: TestStores

beforeAll(async () => {
  stores = await startTestStores()
  const ada = { firstname: 'Ada', lastname: 'Quimby', msisdn: '491700001' }
  const gone = { aid: 7, sid: 70, ...ada, to: '2026-02-01' }
  await insertEntity(stores.catalog, 'plans')
  await insertEntity(stores.catalog, 'subscribers', gone)
  await insertEntity(stores.catalog, 'subscribers', { aid: 7, sid: 71, ...ada, msisdn: '4917002' })
  const entry = { collection: 'subscribers', type: 'create', key: '70', new: gone }
  await createAudit(stores.catalog).record(ACTOR, 1000, entry)
})
afterAll(() => stores?.close())

const run = (...args: string[]) => runOn(stores, args)

it('erase removes a subscriber that must have left, and reports what was done', async () => {
  const refused = await run('erase', '--sid', '71')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain('subscriber 71 is in force until')
  expect(await run('erase')).toMatchObject({ code: 2 })
  expect(await run('erase', '--sid', '5')).toMatchObject({
    code: 1,
    stderr: 'tollgate: there is no subscriber 5\n',
  })
  const done = await run('erase', '--sid', '70')
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toBe('erased subscriber 70: revisions 1, audit records 1\n')
  const [stored] = await stores.catalog.subscribers.find({ sid: 70 }).toArray()
  expect(JSON.stringify(stored)).not.toMatch(/Ada|Quimby|4917/)
  const listed = await run('job', 'list', '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { kind: 'erase', subject: 'subscribers/70', state: 'done', counts: { revisions: 1 } },
  ])
  expect((await run('job', 'list')).stdout).toMatch(/erase +subscribers\/70 +done/)
})

it('audit --records verifies the chain of records, also against an earlier end', async () => {
  const first = await run('audit', '--records')
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const [, end = ''] = /the chain ends with (\d+:[0-9a-f]{64})\n/.exec(first.stdout) ?? []
  expect(first.stdout).toContain('with erased fields 1')
  expect(await run('audit', '--records', '--expect', end)).toMatchObject({ code: 0 })
  expect(await run('audit', '--records', '--expect', '1:beef')).toMatchObject({ code: 2 })
  expect(await run('audit', '--expect', end)).toMatchObject({ code: 2 })
  expect(await run('audit', '--records', '--mend')).toMatchObject({ code: 2 })
  await stores.catalog.audit.updateOne({ type: 'erase' }, { $set: { 'user.name': 'Eve' } })
  const broken = await run('audit', '--records', '--json')
  expect(broken.code).toBe(1)
  expect(JSON.parse(broken.stdout)).toMatchObject({
    ok: false,
    problems: [expect.stringContaining('its content was changed')],
  })
})
