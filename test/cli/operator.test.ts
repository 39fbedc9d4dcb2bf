/** Actions of the command line are recorded under the name of the machine's user. */
import { userInfo } from 'node:os'
import { expect, it } from 'vitest'
import { operator, recordByOperator, writeConfigByOperator } from '../../src/cli/operator.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores } from '../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

it('the operator is the user of the machine', () => {
  expect(operator()).toEqual({ by: 'cli', id: '', name: userInfo().username, address: '' })
})

it('a change of the configuration is recorded, without hashes of keys', async () => {
  const { catalog } = open()
  const peer = { name: 'pgw', keys: [{ sha256: 'hash of a key', created: 'now' }] }
  await writeConfigByOperator(catalog, 'peers', () => [peer])
  await writeConfigByOperator(catalog, 'peers', (value) => [...(value as object[]), { name: 'b' }])
  const found = await catalog.audit
    .find({ collection: 'settings' })
    .sort({ urt: 1, _id: 1 })
    .toArray()
  expect(found).toMatchObject([
    { type: 'set', key: 'peers', old: [], new: [{ name: 'pgw' }], user: { by: 'cli' } },
    { old: [{ name: 'pgw' }], new: [{ name: 'pgw' }, { name: 'b' }], ip: '' },
  ])
  expect(JSON.stringify(found)).not.toContain('hash of a key')
})

it('a refused change is not recorded', async () => {
  const { catalog } = open()
  await catalog.audit.deleteMany({})
  const refused = writeConfigByOperator(catalog, 'peers', () => {
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  expect(await catalog.audit.countDocuments()).toBe(0)
  await recordByOperator(catalog, { collection: 'sessions', type: 'release', key: 's' })
  expect(await catalog.audit.countDocuments({ collection: 'sessions' })).toBe(1)
})
