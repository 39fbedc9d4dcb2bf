import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../../src/catalog/connection.ts'
import {
  answerOf,
  askAt,
  type Fields,
  openSettingsServer,
  useSettingsServer,
} from '../../support/admin/settings/settings-server.ts'

const api = useSettingsServer()
const COLOUR = { field_name: 'colour', type: 'text', title: 'Colour' }
const SIZE = { field_name: 'size', type: 'integer' }

const set = (category: string, data: unknown, more: Fields = {}) =>
  api.ok({ action: 'set', category, data, ...more })

describe('a request is refused by name:', () => {
  it('data that name a prototype, or nest too deep', async () => {
    const evil = '{"fields":[{"__proto__":{"x":1}}]}'
    const body = new URLSearchParams({ action: 'set', category: 'rates', data: evil })
    const answer = await answerOf(await fetch(api.url(), { method: 'POST', body }))
    expect(answer.message).toContain('data.fields.0.__proto__ is a name that is not allowed')
    const deep = `${'['.repeat(60)}${']'.repeat(60)}`
    const nested = new URLSearchParams({ action: 'set', category: 'rates', data: deep })
    const refused = await answerOf(await fetch(api.url(), { method: 'POST', body: nested }))
    expect(refused.message).toContain('nested deeper than')
    const polluted = { action: 'set', category: 'rates.__proto__', data: { polluted: 1 } }
    await api.refused(polluted)
    expect(({} as Fields)['polluted']).toBeUndefined()
  })

  it('a body or value that is too large', async () => {
    const long = (length: number) => ({ description: 'x'.repeat(length) })
    await set('rates', { fields: [{ ...COLOUR, ...long(700_000) }] })
    const data = { ...SIZE, ...long(700_000) }
    const message = await api.refused({ action: 'set', category: 'rates.fields.1', data })
    expect(message).toMatch(/^rates would have 14\d{5} bytes: at most 1048576 are kept$/)
    const body = { action: 'set', category: 'rates', data: long(1_100_000) }
    expect((await api.ask(body)).http).toBe(413)
  })

  it('a change by GET, which reads, and other methods', async () => {
    await set('rates', { fields: [COLOUR] })
    const read = await fetch(`${api.url()}?category=rates&path=fields.0`)
    expect((await answerOf(read)).details).toEqual(COLOUR)
    await api.ok({ action: 'unset', category: 'rates' })
    for (const action of ['set', 'unset', 'restore']) {
      const address = `${api.url()}?action=${action}&category=rates&data={}&rev=1`
      const response = await fetch(address)
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const put = await fetch(api.url(), { method: 'DELETE' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST'])
    expect((await api.get('rates')).details).toEqual({})
  })
})

it('concurrent changes at different paths do not overwrite each other', async () => {
  const parts = ['session.idle_minutes', 'lockout.attempts', 'password.characters_min']
  await Promise.all(parts.map((part) => set(`security.${part}`, 9)))
  expect((await api.get('security')).details).toEqual({
    session: { idle_minutes: 9 },
    lockout: { attempts: 9 },
    password: { characters_min: 9 },
  })
})

describe('without MongoDB', () => {
  it('requests get a 503 that says so', async () => {
    const away = { url: 'mongodb://127.0.0.1:1', database: 'x', timeoutMs: 200, appName: 'test' }
    const catalog = await openCatalog(away)
    const { server, url } = await openSettingsServer(catalog)
    try {
      for (const params of [
        { category: 'rates' },
        { action: 'set', category: 'rates', data: { fields: [] } },
        { action: 'history', category: 'rates' },
      ]) {
        const answer = await askAt(url, params)
        expect([answer.http, answer.message]).toEqual([503, expect.stringContaining('MongoDB')])
      }
    } finally {
      await server.close()
      await catalog.close()
    }
  })
})
