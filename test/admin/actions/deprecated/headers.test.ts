/** Every answer of a deprecated call says what replaces it. */
import { beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../../../src/admin/actions/action.ts'
import { DEPRECATIONS } from '../../../../src/admin/actions/deprecated/deprecations.ts'
import { ACTIONS } from '../../../../src/admin/actions/table.ts'
import {
  addDeprecatedTenant,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'
import { DOCUMENT } from '../../../support/admin/openapi/answer-check.ts'
import { ACTION_ENDPOINTS } from '../../../support/admin/permissions/page.ts'

const api = useDeprecated()
beforeAll(() => addDeprecatedTenant(api.catalog()))

const served = new Set(ACTIONS.map((action) => String(pathsOf(action)[0])))
const CALLS = Object.entries(DEPRECATIONS).filter(([path]) => served.has(path))

describe.each(CALLS)('%s', (path, { successors, selectedBy }) => {
  const name = path.replace('/api/', '').slice(path.startsWith('/api/') ? 0 : 1)
  const params = selectedBy === undefined ? {} : { [selectedBy]: 'query' }

  it.each(['admin', '-'])('has the headers, as %s', async (role) => {
    const { headers } = await api.ask(name, params, { role })
    expect(headers.get('deprecation')).toBe('@1795651200')
    const link = headers.get('link')?.split(', ')
    expect(link).toEqual(successors.map((each) => `<${each}>; rel="successor-version"`))
  })

  it('is described as deprecated, with successors that exist', () => {
    const { post } = DOCUMENT.paths[path] ?? {}
    if (selectedBy === undefined) expect(post).toMatchObject({ deprecated: true })
    else expect(post).not.toHaveProperty('deprecated')
    const known = ACTION_ENDPOINTS.map((endpoint) => endpoint.path)
    for (const each of successors) {
      expect(post?.description).toContain(each)
      expect([...Object.keys(DOCUMENT.paths), ...known]).toContain(each)
    }
  })
})

it('other calls have none of it', async () => {
  const { headers } = await api.ask('operations', {})
  expect(headers.has('deprecation')).toBe(false)
  expect(DOCUMENT.paths['/api/operations']?.get).not.toHaveProperty('deprecated')
  const { headers: others } = await api.ask('cards', {})
  expect(others.has('deprecation')).toBe(false)
})
