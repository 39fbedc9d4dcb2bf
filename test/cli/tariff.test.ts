/** `tollgate tariff`, as an operator runs it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { insertEntity } from '../support/catalog/store.ts'
import { runOn } from '../support/cli/tollgate.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores } from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)

const SET = {
  name: 'tv',
  activation: '2100-01-01T00:00:00Z',
  writes: [
    {
      collection: 'services',
      action: 'closeandnew',
      query: { name: 'TV' },
      update: { description: 'TV 2' },
    },
  ],
}

it('a set is prepared from a file, checked, scheduled, listed and cancelled', async () => {
  const run = (...args: string[]) => runOn(stores(), ['tariff', ...args])
  const file = join(mkdtempSync(join(tmpdir(), 'tg-tariff-')), 'tv.json')
  const prepare = (set: object) => {
    writeFileSync(file, JSON.stringify(set))
    return run('prepare', file)
  }
  expect(await prepare(SET)).toMatchObject({
    code: 0,
    stdout: 'tv: draft, 1 write from 2100-01-01T00:00:00.000Z\n',
  })
  const many = await prepare({ ...SET, writes: Array(501).fill(SET.writes[0]) })
  expect(many.stderr).toContain('writes has more than 500 members')
  const misspelt = await prepare({ ...SET, case: [] })
  expect(misspelt).toMatchObject({ code: 1, stderr: expect.stringContaining('case') })
  const failed = await run('check', 'tv')
  expect(failed).toMatchObject({ code: 1 })
  expect(failed.stdout).toMatch(/^tv: failed, .*\n {2}writes\.0 /)
  expect((await run('schedule', 'tv')).stderr).toContain('writes.0')
  await insertEntity(stores().catalog, 'services')
  expect((await prepare(SET)).code).toBe(0)
  expect(await run('schedule', 'tv')).toMatchObject({ code: 0, stderr: '' })
  const [listed] = JSON.parse((await run('list', '--json')).stdout)
  expect(listed).toMatchObject({ name: 'tv', state: 'scheduled', errors: [] })
  expect((await run('rollback', 'tv')).stderr).toContain('the set is scheduled, not activated')
  expect((await run('cancel', 'tv')).stdout).toContain('tv: draft')
  expect((await run('check', 'none')).stderr).toContain('there is no tariff change set none')
})
